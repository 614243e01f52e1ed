// SPDX-License-Identifier: Apache-2.0
// RankHosts: the hosts of ranks, from the lists of programs and launchers at
// their start: "Slave 3 runs on host = node-2", "Process 3 of 8 is on node-2",
// Intel MPI's and nccl-tests' tables, Open MPI's bindings. A rank with two
// hosts (two jobs in one log) has none. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class RankHosts {
 public:
  void learn(std::string_view line);
  // By rank; empty: unknown. Ends with the highest known one.
  [[nodiscard]] std::vector<std::string> take();

 private:
  std::map<int, std::string> hosts_;
};

}  // namespace muster
