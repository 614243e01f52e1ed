// SPDX-License-Identifier: Apache-2.0
// The commands check and bench: this pod's limits, then one pair.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <set>

#include "base/fd.h"
#include "base/json_text.h"
#include "base/text.h"
#include "fabric/collect/collect.h"
#include "fabric/prove/pair_test.h"

namespace muster {

namespace {

void print(const std::string& text) {
  static_cast<void>(write_all(STDOUT_FILENO, text + "\n"));
}

int fail_with(const FabricOptions& options, const Error& error) {
  if (options.json) {
    std::string line = "{\"ok\": false, \"code\": ";
    append_json_string(line, error.code);
    line += ", \"text\": ";
    append_json_string(line, error.text());
    print(line + "}");
  } else {
    static_cast<void>(write_all(STDERR_FILENO, error.text() + "\n"));
  }
  return exit_class_of(error.code);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

void print_json(const PairResult& result) {
  std::string line =
      "{\"ok\": true, \"latency_us\": " + number(result.latency_us) +
      ", \"latency_p99_us\": " + number(result.latency_p99_us) +
      ", \"to_gbps\": " + number(result.to_gbps) +
      ", \"from_gbps\": " + number(result.from_gbps) + ", \"rails\": [";
  for (const RailResult& rail : result.rails) {
    if (!line.ends_with('[')) line += ", ";
    line += "{\"rail\": ";
    append_json_string(line, rail.rail);
    line += ", \"peer_rail\": ";
    append_json_string(line, rail.peer_rail);
    line += ", \"code\": ";
    append_json_string(line, rail.code);
    line += ", \"text\": ";
    append_json_string(line, rail.text);
    line += ", \"latency_us\": " + number(rail.latency_us) +
            ", \"to_gbps\": " + number(rail.to_gbps) +
            ", \"from_gbps\": " + number(rail.from_gbps) + "}";
  }
  line += "], \"grown\": {";
  for (const GrownCounter& counter : result.grown) {
    if (!line.ends_with('{')) line += ", ";
    append_json_string(line, counter.name);
    line += ": " + std::to_string(counter.growth);
  }
  print(line + "}}");
}

void print_text(const FabricOptions& options, const PairResult& result) {
  std::string text = options.peer + ": TCP works both ways, round trip " +
                     number(result.latency_us) +
                     " us (99%: " + number(result.latency_p99_us) + " us)";
  const bool bench = options.command == "bench";
  if (bench) {
    text += ", " + number(result.to_gbps) + " Gb/s there, " +
            number(result.from_gbps) + " Gb/s back";
  }
  print(text);
  for (const RailResult& rail : result.rails) {
    const std::string name = rail.rail + " to " + rail.peer_rail;
    if (!rail.code.empty()) {
      print(name + ": RDMA does not work: " + rail.text);
      continue;
    }
    print(name + ": RDMA works both ways, round trip " +
          number(rail.latency_us) + " us" +
          (bench ? ", writes " + number(rail.to_gbps) + " Gb/s, reads " +
                       number(rail.from_gbps) + " Gb/s"
                 : ""));
  }
  if (!result.grown.empty()) {
    print("counters of this pod that grew meanwhile: " +
          counters_text(result.grown));
  }
}

// A rail that does not work is a failure; one sample across is a warning.
int print_result(const FabricOptions& options, const PairResult& result) {
  if (options.json) {
    print_json(result);
  } else {
    print_text(options, result);
  }
  for (const RailResult& rail : result.rails) {
    if (!rail.code.empty() && !rail.across) return exit_class_of(rail.code);
  }
  return 0;
}

// Trouble in this pod before it sends any packet.
Status check_limits(const PodFabric& pod) {
  constexpr int64_t kEnough = 64LL << 20;
  const bool rdma = yes(pod.uverbs);
  if (rdma && pod.memlock_bytes >= 0 && pod.memlock_bytes < kEnough) {
    return fail({.code = "limits",
                 .what = "RDMA will fail in this pod",
                 .why = "at most " +
                        human_bytes(static_cast<uint64_t>(pod.memlock_bytes)) +
                        " of memory can be locked",
                 .where = pod.name,
                 .hint = "raise memlock, or add capability IPC_LOCK"});
  }
  return {};
}

// That GPUDirect does not work makes a job slow, not wrong.
void print_alone(const FabricOptions& options, const PodFabric& pod) {
  std::string json = "{\"ok\": true";
  std::string text =
      "this pod's limits are fine; --peer HOST:PORT tests the way to another "
      "pod";
  if (pod.gdr_verified) {
    const bool works = *pod.gdr_verified;
    json += std::string(", \"gdr_verified\": ") + (works ? "true" : "false");
    if (!works) {
      json += ", \"gdr_trouble\": ";
      append_json_string(json, pod.gdr_trouble);
    }
    text += works
                ? "\nGPUDirect RDMA works: a write arrived in the GPU's memory"
                : "\nGPUDirect RDMA does not work: " + pod.gdr_trouble;
  }
  print(options.json ? json + "}" : text);
}

int serve(const FabricOptions& options) {
  int port = 0;
  const auto listener = listen_tcp(options.listen, port);
  if (!listener) return fail_with(options, listener.error());
  const UniqueFd owner(*listener);
  print("listening on port " + std::to_string(port));
  const Status status =
      serve_pair(owner.get(), options.timeout_ms, own_rails());
  return status ? 0 : fail_with(options, status.error());
}

}  // namespace

int exit_class_of(const std::string& code) {
  if (code == "usage") return 2;
  if (code == "connect") return 31;
  if (code == "connect_back") return 32;
  if (code == "bulk_stalls" || code == "mtu_differs") return 33;
  if (code == "limits") return 34;
  if (code == "name_missing") return 36;
  if (code == "slow" || code == "rdma_slow") return 37;
  if (code.starts_with("rdma_")) return 38;
  static const std::set<std::string> kLost = {"peer_lost", "pod_missing",
                                              "deadline", "protocol"};
  return kLost.count(code) != 0 ? 35 : 39;
}

// For a person who waits for nothing else.
constexpr std::chrono::milliseconds kProbesMs{20'000};

int pair_main(const FabricOptions& options) {
  if (options.command == "check") {
    const bool alone = options.listen.empty() && options.peer.empty();
    const PodFabric pod =
        alone ? collect_fabric_and_gdr(kProbesMs) : collect_fabric("");
    if (Status status = check_limits(pod); !status) {
      return fail_with(options, status.error());
    }
    if (alone) {
      print_alone(options, pod);
      return 0;
    }
  }
  if (!options.listen.empty()) return serve(options);
  if (options.peer.empty()) {
    return fail_with(options, {.code = "usage",
                               .what = "muster fabric bench",
                               .why = "--peer or --listen is missing",
                               .where = {},
                               .hint = {}});
  }
  PairRequest request;
  request.peer = options.peer;
  request.megabytes = options.command == "bench" ? options.megabytes : 1;
  request.timeout_ms = options.timeout_ms;
  request.measure_rdma = options.command == "bench";
  request.rails = own_rails();
  const Counters before = read_counters("");
  auto result = drive_pair(request);
  if (!result) return fail_with(options, result.error());
  if (options.command == "bench") {
    result->grown = grown_counters(before, read_counters(""));
  }
  return print_result(options, *result);
}

}  // namespace muster
