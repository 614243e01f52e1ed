// SPDX-License-Identifier: Apache-2.0
// The verbs part of a pair test: one RC queue pair per rail. The driver writes
// into the peer's memory and reads it back (so that data goes both ways, and
// compares it), first 8 bytes, then 64 KiB; then it measures. The peer only
// opens its side, its CPU takes no part. Refuses: more than 64 MiB in flight.
// Opens libibverbs at run time; without it there are no rails. Blocks, with
// deadlines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/prove/pair_rails.h"
#include "fabric/prove/pair_socket.h"

namespace muster {

struct RailResult {
  std::string rail;  // "mlx5_0", "mlx5_0 to mlx5_1"
  std::string peer_rail;
  bool across = false;
  // "": it works. "rdma_open", "rdma_gid", "rdma_unreachable", "rdma_mtu",
  // "rdma_lossy" (under load), "rdma_data".
  std::string code;
  std::string text;        // of a failure, one sentence
  double latency_us = -1;  // median of an 8-byte write with its answer
  double to_gbps = -1;     // by writes
  double from_gbps = -1;   // by reads
  double port_gbps = -1;   // the slower port's rate
};

// This pod's rails for a test: collects its facts, probe and all. Costs
// milliseconds, and a fork: call it once per process, before there are threads.
// Without verbs in the build: none.
RailList own_rails();

// The peer's side; keeps one queue pair open at a time.
class VerbsServer {
 public:
  explicit VerbsServer(RailList own);
  ~VerbsServer();
  VerbsServer(const VerbsServer&) = delete;
  VerbsServer& operator=(const VerbsServer&) = delete;
  // A request's JSON -> the answer's; mistakes are part of the answer.
  std::string answer(const std::string& json);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The driver's side over the pair's TCP connection. `measure`: also bandwidth.
// An error concerns the TCP connection; a rail's trouble is in its result.
Result<std::vector<RailResult>> drive_rails(int fd, const RailList& mine,
                                            bool measure, Deadline deadline);

}  // namespace muster
