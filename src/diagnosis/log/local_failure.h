// SPDX-License-Identifier: Apache-2.0
// LocalFailure: the process of its node that torchrun saw fail first: "failed
// (exitcode: -9) local_rank: 1 (pid: 20277)". With one node that is its rank.
// DeepSpeed's "--local_rank=7' exits with return code = 1" always names its
// last process, so it counts for nothing. Refuses to name a rank if anything in
// the log shows a second node. Not thread-safe.
#pragma once

#include <string_view>

namespace muster {

class LocalFailure {
 public:
  // `host`: the host of a tool's tag; launchers that start several nodes tag
  // lines.
  void add(std::string_view line, std::string_view host);
  // -1: unknown, or not a rank.
  [[nodiscard]] int rank() const { return several_ ? -1 : first_; }

 private:
  int first_ = -1;
  bool several_ = false;
};

}  // namespace muster
