// SPDX-License-Identifier: Apache-2.0
// check and bench between two pods: one listens, the other drives. Over TCP
// always; over verbs (pair_verbs.h) if the driver has an adapter to use. Every
// wait has a deadline; the listener serves one peer and ends. Refuses: more
// than 4 GiB per direction. There is no authentication: the port is open for
// one connection, carries no data of the job, and both sides end by their own
// deadline.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/collect/counters.h"
#include "fabric/fabric_options.h"
#include "fabric/prove/pair_verbs.h"

namespace muster {

struct PairRequest {
  std::string peer;   // "HOST:PORT"
  bool bulk = true;   // a megabyte needs full-sized packets
  int megabytes = 1;  // per direction
  int timeout_ms = 10'000;
  int connect_ms = 3'500;  // of it, for the connection
  // Our own listening socket for the peer's connection; -1: the test makes one.
  int back_listener = -1;
  int back_port = 0;
  bool rdma = true;           // also over verbs, if both pods have an adapter
  RailList rails;             // ours, from own_rails()
  bool measure_rdma = false;  // its bandwidth, too
};

struct PairResult {
  double latency_us = -1;  // median round trip
  double latency_p99_us = -1;
  double to_gbps = -1;  // towards the peer
  double from_gbps = -1;
  bool back_ok = false;  // the peer could connect to us
  std::vector<RailResult> rails;
  std::vector<GrownCounter> grown;  // in this pod, by a bench of one pair
};

// Error codes, each an exit class: "connect" 31, "connect_back" 32,
// "bulk_stalls" 33 (small messages pass and large ones do not: MTU),
// "limits" 34, "peer_lost" 35.
Result<PairResult> drive_pair(const PairRequest& request);
// Serves one driver on a listening socket.
Status serve_pair(int listener, int timeout_ms, const RailList& own);
// Serves a driver that has connected.
Status serve_connection(int fd, int timeout_ms, const RailList& own);
// A listening socket on "[HOST:]PORT"; port 0: any, found in `port`.
Result<int> listen_tcp(const std::string& address, int& port);

int pair_main(const FabricOptions& options);
int exit_class_of(const std::string& code);

}  // namespace muster
