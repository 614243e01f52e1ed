// SPDX-License-Identifier: Apache-2.0
// LocalFailure: which process of its node torchrun saw fail first: "failed
// (exitcode: -9) local_rank: 1 (pid: 20277)". Where one node takes part that is
// its rank. DeepSpeed's "--local_rank=7' exits with return code = 1" always
// names its last process, so it counts for nothing. Refuses to name a rank
// where anything in the log tells of a second node. Not thread-safe.
#pragma once

#include <string_view>

namespace muster {

class LocalFailure {
 public:
  // `host`: whose line a tool's tag says this is; launchers that start several
  // nodes tag them.
  void add(std::string_view line, std::string_view host);
  // -1: not told, or not known to be one.
  [[nodiscard]] int rank() const { return several_ ? -1 : first_; }

 private:
  int first_ = -1;
  bool several_ = false;
};

}  // namespace muster
