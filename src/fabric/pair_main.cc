// SPDX-License-Identifier: Apache-2.0
// The commands check and bench: this pod's limits, then one pair.
#include <unistd.h>

#include <cstdio>

#include "base/fd.h"
#include "base/json_text.h"
#include "base/text.h"
#include "fabric/collect.h"
#include "fabric/pair_test.h"

namespace muster {

namespace {

void print(const std::string& text) {
  static_cast<void>(write_all(STDOUT_FILENO, text + "\n"));
}

int exit_class(const std::string& code) {
  if (code == "usage") return 2;
  if (code == "connect") return 31;
  if (code == "connect_back") return 32;
  if (code == "bulk_stalls") return 33;
  if (code == "limits") return 34;
  return 35;
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
  return exit_class(error.code);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

void print_result(const FabricOptions& options, const PairResult& result) {
  if (options.json) {
    print("{\"ok\": true, \"latency_us\": " + number(result.latency_us) +
          ", \"latency_p99_us\": " + number(result.latency_p99_us) +
          ", \"to_gbps\": " + number(result.to_gbps) +
          ", \"from_gbps\": " + number(result.from_gbps) + "}");
    return;
  }
  std::string text = options.peer + ": TCP works both ways, round trip " +
                     number(result.latency_us) +
                     " us (99%: " + number(result.latency_p99_us) + " us)";
  if (options.command == "bench") {
    text += ", " + number(result.to_gbps) + " Gb/s there, " +
            number(result.from_gbps) + " Gb/s back";
  }
  print(text);
}

// What is wrong in this pod before any packet is sent.
Status check_limits() {
  constexpr int64_t kEnough = 64LL << 20;
  const PodFabric pod = collect_fabric("");
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

int serve(const FabricOptions& options) {
  int port = 0;
  const auto listener = listen_tcp(options.listen, port);
  if (!listener) return fail_with(options, listener.error());
  const UniqueFd owner(*listener);
  print("listening on port " + std::to_string(port));
  const Status status = serve_pair(owner.get(), options.timeout_ms);
  return status ? 0 : fail_with(options, status.error());
}

}  // namespace

int pair_main(const FabricOptions& options) {
  if (options.command == "check") {
    if (Status status = check_limits(); !status) {
      return fail_with(options, status.error());
    }
  }
  if (!options.listen.empty()) return serve(options);
  if (options.peer.empty()) {
    if (options.command == "check") {
      print(options.json ? "{\"ok\": true}"
                         : "this pod's limits are fine; --peer HOST:PORT "
                           "tests the way to another pod");
      return 0;
    }
    return fail_with(options, {.code = "usage",
                               .what = "muster fabric bench",
                               .why = "--peer or --listen is missing",
                               .where = {},
                               .hint = {}});
  }
  const auto result = drive_pair(options.peer, options.command == "bench",
                                 options.megabytes, options.timeout_ms);
  if (!result) return fail_with(options, result.error());
  print_result(options, *result);
  return 0;
}

}  // namespace muster
