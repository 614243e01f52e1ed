// SPDX-License-Identifier: Apache-2.0
// GrownErrors: which counters of lost or broken packets have grown since it was
// made, at this pod's adapters, interfaces and TCP: evidence for a job that
// fails or crawls. Reads a few hundred small files, some of them by asking the
// adapter, so it looks at most once in five seconds. Never fails; loop thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "fabric/collect/counters.h"

namespace muster {

class GrownErrors {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `root` is put before every absolute path.
  explicit GrownErrors(std::string root);
  // "mlx5_0/1 packet_seq_err +12"; what the last look has seen.
  const std::vector<std::string>& at(Time now);

 private:
  std::string root_;
  Counters before_;
  bool looked_ = false;
  Time last_{};
  std::vector<std::string> grown_;
};

}  // namespace muster
