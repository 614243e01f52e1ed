// SPDX-License-Identifier: Apache-2.0
// Requests: {"step": "rails"} -> {"rails": [...]}; {"step": "open", "end",
// "address", "mtu"} -> {"code", "text", "address"}, code "" if it is ready.
#include "fabric/prove/pair_verbs.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "fabric/collect/collect.h"
#include "fabric/prove/pair_wire.h"
#include "fabric/prove/rc_queue.h"
#include "job/json_fields.h"

namespace muster {

#ifdef MUSTER_HAS_VERBS

namespace {

struct OpenRequest {
  std::string step;
  RailEnd end;
  RcAddress address;
  int mtu = 0;
};

struct OpenAnswer {
  std::string code;
  std::string text;
  RcAddress address;
};

template <class Json, class Address>
void visit_address(Json& json, Address& address) {
  json.field("qpn", address.qpn);
  json.field("psn", address.psn);
  json.field("lid", address.lid);
  json.field("mtu", address.mtu);
  json.field("gid", address.gid);
  json.field("memory", address.memory);
  json.field("rkey", address.rkey);
}

template <class Json, class Request>
void visit_request(Json& json, Request& request) {
  json.field("step", request.step);
  json.field("hca", request.end.hca);
  json.field("port", request.end.port);
  json.field("gid_index", request.end.gid_index);
  json.field("ethernet", request.end.ethernet);
  json.field("path_mtu", request.mtu);
  visit_address(json, request.address);
}

std::string to_json(const OpenRequest& request) {
  JsonWriter out;
  visit_request(out, request);
  return out.text();
}

std::string to_json(const OpenAnswer& answer) {
  JsonWriter out;
  out.field("code", answer.code);
  out.field("text", answer.text);
  visit_address(out, answer.address);
  return out.text();
}

Result<std::string> ask(int fd, const std::string& json, Deadline deadline) {
  if (Status s = send_json(fd, json, deadline); !s) return fail(s.error());
  const auto reply = receive_message(fd, deadline);
  if (!reply) return fail(reply.error());
  if (reply->kind != 'V') {
    return fail({"peer_lost", "talking to the peer", "it knows no verbs test",
                 peer_host(fd), "use the same muster in all pods"});
  }
  return receive_json(fd, reply->number, deadline);
}

Result<OpenAnswer> open_peer(int fd, const OpenRequest& request,
                             Deadline deadline) {
  const auto json = ask(fd, to_json(request), deadline);
  if (!json) return fail(json.error());
  JsonReader in(*json, "the peer's address");
  OpenAnswer answer;
  in.field("code", answer.code);
  in.field("text", answer.text);
  visit_address(in, answer.address);
  if (Status s = in.status(); !s) return fail(s.error());
  return answer;
}

double seconds(Deadline from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from)
      .count();
}

// Far more than the adapter's own retries take, for one attempt at a rail.
constexpr int kRailMs = 10'000;
constexpr size_t kSmallBytes = 8;
constexpr size_t kMediumBytes = 64 << 10;  // full packets of every MTU
constexpr size_t kLargeBytes = 1 << 20;    // what measures a rate

// Writes a pattern, wipes our copy, reads it back.
Status there_and_back(RcQueue& queue, size_t size, Deadline deadline) {
  for (size_t i = 0; i < size; ++i) {
    queue.memory()[i] = static_cast<char>('a' + i % 23);
  }
  if (Status s = queue.transfer(true, size, 1, deadline); !s) return s;
  std::fill_n(queue.memory(), size, '\0');
  if (Status s = queue.transfer(false, size, 1, deadline); !s) return s;
  for (size_t i = 0; i < size; ++i) {
    if (queue.memory()[i] == static_cast<char>('a' + i % 23)) continue;
    return fail({"rdma_data",
                 "an RDMA write came back changed",
                 "byte " + std::to_string(i) + " differs",
                 {},
                 {}});
  }
  return {};
}

Status measure(RcQueue& queue, bool bandwidth, RailResult& result,
               Deadline deadline) {
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) {
    const Deadline start = deadline_in(0);
    if (Status s = queue.transfer(true, kSmallBytes, 1, deadline); !s) return s;
    times.push_back(seconds(start) * 1e6);
  }
  std::sort(times.begin(), times.end());
  result.latency_us = times[times.size() / 2];
  // About a second each way on the slowest link that is worth having.
  for (const bool write : {true, false}) {
    const Deadline start = deadline_in(0);
    int64_t bytes = 0;
    const int batch = bandwidth ? 16 : 1;
    do {
      if (Status s = queue.transfer(write, kLargeBytes, batch, deadline); !s) {
        return s;
      }
      bytes += batch * static_cast<int64_t>(kLargeBytes);
    } while (bandwidth && seconds(start) < 0.5);
    const double rate = static_cast<double>(bytes) * 8e-9 / seconds(start);
    (write ? result.to_gbps : result.from_gbps) = rate;
  }
  return {};
}

// The steps that have worked so far: distinguishes a dead way from packets that
// do not fit, and those from packets that are lost under load.
enum class Passed { kNothing, kSmall, kMedium };

// Opens both ends with this path MTU and moves data; measures for a `result`.
Status try_rail(int fd, const RailPair& pair, int mtu_limit, bool bandwidth,
                RailResult* result, Passed& passed, int& mtu,
                Deadline deadline) {
  passed = Passed::kNothing;
  deadline = std::min(deadline, deadline_in(kRailMs));
  RcQueue queue;
  if (Status s = queue.open(pair.mine); !s) return s;
  mtu = std::min({static_cast<int>(queue.address().mtu), mtu_limit,
                  pair.theirs.mtu > 0 ? pair.theirs.mtu : mtu_limit});
  const auto peer =
      open_peer(fd, {"open", pair.theirs, queue.address(), mtu}, deadline);
  if (!peer)
    return fail(
        {"peer_lost", "opening the peer's side", peer.error().text(), {}, {}});
  if (!peer->code.empty()) {
    return fail(
        {peer->code, "the peer's side does not open", peer->text, {}, {}});
  }
  if (Status s = queue.connect(peer->address, mtu); !s) return s;
  if (Status s = there_and_back(queue, kSmallBytes, deadline); !s) return s;
  passed = Passed::kSmall;
  if (Status s = there_and_back(queue, kMediumBytes, deadline); !s) return s;
  passed = Passed::kMedium;
  return result == nullptr ? Status{}
                           : measure(queue, bandwidth, *result, deadline);
}

// Link-local addresses were tried since one side has no other.
void blame_address(const RailPair& pair, RailResult& result) {
  const auto poor = [](const RailEnd& end) {
    return end.ethernet && end.ipv4_gid < 0 && end.ipv6_gid < 0;
  };
  if (!poor(pair.mine) && !poor(pair.theirs)) return;
  result.code = "rdma_gid";
  result.text = pair.name() + ": " +
                (poor(pair.mine) ? "this pod's " + pair.mine.hca
                                 : "the peer's " + pair.theirs.hca) +
                " has no RoCE address but link-local ones, which get no "
                "answer: give its interface an IP address";
}

// Small transfers pass: does a smaller packet? Then the way's MTU is to blame.
void blame_mtu(int fd, const RailPair& pair, int mtu, RailResult& result,
               Deadline deadline) {
  for (int less = mtu / 2; less >= 256; less /= 2) {
    Passed passed{};
    int used = 0;
    if (!try_rail(fd, pair, less, false, nullptr, passed, used, deadline)) {
      continue;
    }
    result.code = "rdma_mtu";
    result.text = pair.name() + ": packets of " + std::to_string(mtu) +
                  " bytes, the adapters' active MTU, are lost on the way and "
                  "those of " +
                  std::to_string(less) +
                  " pass: raise the MTU of the network between the adapters, "
                  "or lower that of their interfaces";
    return;
  }
}

RailResult test_rail(int fd, const RailPair& pair, bool bandwidth,
                     Deadline deadline) {
  RailResult result;
  result.rail = pair.mine.hca;
  result.peer_rail = pair.theirs.hca;
  result.across = pair.across;
  result.port_gbps = std::min(pair.mine.rate_gbps, pair.theirs.rate_gbps);
  Passed passed{};
  int mtu = 0;
  const Status first =
      try_rail(fd, pair, 4096, bandwidth, &result, passed, mtu, deadline);
  if (first) return result;
  result.code = first.error().code;
  result.text = pair.name() + ": " + first.error().text();
  if (result.code != "rdma_unreachable") return result;
  switch (passed) {
    case Passed::kNothing:
      blame_address(pair, result);
      break;
    case Passed::kSmall:
      blame_mtu(fd, pair, mtu, result, deadline);
      break;
    case Passed::kMedium:
      result.code = "rdma_lossy";
      result.text = pair.name() +
                    ": single transfers pass, packets of every size, and many "
                    "in a row do not: they are lost under load; look at flow "
                    "control (PFC, ECN) and drops of the switch ports";
      break;
  }
  return result;
}

// Pods whose numbers of rails differ cannot use them together.
RailResult unequal(const RailList& mine, const RailList& theirs) {
  RailResult out;
  out.rail = out.peer_rail = "rails";
  out.code = "rdma_no_rail";
  out.text = "this pod has " + std::to_string(mine.ends.size()) +
             " usable rails and the peer has " +
             std::to_string(theirs.ends.size());
  if (!mine.left_out.empty()) {
    out.text += "; left out here: " + join(mine.left_out, ", ");
  }
  if (!theirs.left_out.empty()) {
    out.text += "; left out there: " + join(theirs.left_out, ", ");
  }
  return out;
}

}  // namespace

struct VerbsServer::Impl {
  RailList own;
  std::unique_ptr<RcQueue> queue;
};

RailList own_rails() { return rails_of(collect_fabric("")); }

VerbsServer::VerbsServer(RailList own)
    : impl_(std::make_unique<Impl>(Impl{std::move(own), nullptr})) {}
VerbsServer::~VerbsServer() = default;

std::string VerbsServer::answer(const std::string& json) {
  JsonReader in(json, "a verbs request");
  OpenRequest request;
  visit_request(in, request);
  if (request.step == "rails") {
    return rails_to_json(impl_->own);
  }
  OpenAnswer answer;
  impl_->queue = std::make_unique<RcQueue>();
  Status status = in.status();
  if (status) status = impl_->queue->open(request.end);
  if (status) status = impl_->queue->connect(request.address, request.mtu);
  if (!status) {
    impl_->queue.reset();
    answer.code = status.error().code;
    answer.text = status.error().text();
  } else {
    answer.address = impl_->queue->address();
  }
  return to_json(answer);
}

Result<std::vector<RailResult>> drive_rails(int fd, const RailList& mine,
                                            bool measure, Deadline deadline) {
  std::vector<RailResult> out;
  if (mine.ends.empty() && mine.left_out.empty()) return out;
  const auto json = ask(fd, to_json(OpenRequest{"rails", {}, {}, 0}), deadline);
  if (!json) return fail(json.error());
  const auto theirs = rails_from_json(*json);
  if (!theirs) return fail(theirs.error());
  if (mine.ends.size() != theirs->ends.size()) {
    out.push_back(unequal(mine, *theirs));
  }
  for (const RailPair& pair : pair_rails(mine.ends, theirs->ends)) {
    out.push_back(test_rail(fd, pair, measure, deadline));
  }
  return out;
}

#else

struct VerbsServer::Impl {};
RailList own_rails() { return {}; }
VerbsServer::VerbsServer(RailList) {}
VerbsServer::~VerbsServer() = default;
std::string VerbsServer::answer(const std::string&) {
  return R"({"rails": []})";
}
Result<std::vector<RailResult>> drive_rails(int, const RailList&, bool,
                                            Deadline) {
  return std::vector<RailResult>{};
}

#endif

}  // namespace muster
