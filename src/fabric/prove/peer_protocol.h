// SPDX-License-Identifier: Apache-2.0
// The orders and answers of `muster fabric peer`, the helper in each pod of a
// job-wide check: one line of JSON each way, through the job's own channel
// (never over the network under test). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/collect/counters.h"
#include "fabric/prove/pair_test.h"

namespace muster {

// "listen": on `port`; 0: any.
// "drive": test the way to `peer`.
// "look": what this pod is, and which of `names` have no address here. Comes
// last, since its answer is long: where long packets are lost, nothing of that
// pod would be heard afterwards.
struct PeerOrder {
  std::string order;
  int port = 0;
  std::vector<std::string> names;
  std::string peer;
  bool bulk = true;
  int megabytes = 1;
  int timeout_ms = 10'000;
  bool rdma = true;
  bool measure_rdma = false;
};

struct PeerAnswer {
  std::string code;  // "": well
  std::string text;
  int port = 0;
  std::string facts;                    // hello
  std::vector<std::string> unresolved;  // look
  std::vector<GrownCounter> grown;      // look: since listen
  PairResult result;                    // drive
};

std::string to_json(const PeerOrder& order);
std::string to_json(const PeerAnswer& answer);
// Error code "protocol".
Result<PeerOrder> peer_order_from_json(std::string_view text);
Result<PeerAnswer> peer_answer_from_json(std::string_view text);

// The helper itself: orders on stdin until it ends. Meanwhile serves other
// pods' tests on a thread per connection.
int peer_main();

}  // namespace muster
