// SPDX-License-Identifier: Apache-2.0
// The progress of a TCP connection in the kernel, and a watch that tells a slow
// one (bytes trickle) from a stalled one (full-sized packets vanish).
#pragma once

#include <chrono>
#include <cstdint>

namespace muster {

// Bytes that the other end has acknowledged plus bytes received; 0 if unknown.
uint64_t tcp_progress(int fd);

// Longer than the kernel's first retransmissions, so that one lost packet does
// not look like a stall.
constexpr int kStallMs = 2500;
constexpr int kStallPollMs = 250;

class StallWatch {
 public:
  explicit StallWatch(int fd) : fd_(fd), seen_(tcp_progress(fd)) {}
  // No byte went either way for kStallMs.
  bool stalled();

 private:
  using Clock = std::chrono::steady_clock;
  int fd_;
  uint64_t seen_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace muster
