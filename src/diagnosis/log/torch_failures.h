// SPDX-License-Identifier: Apache-2.0
// torchrun ends with a list: under "Failures:" the ranks that failed later,
// under "Root Cause (first observed failure):" the first one. Finds the lines
// of the former, so that a victim does not count as the first. Pure, except for
// its position; not thread-safe.
#pragma once

#include <string_view>

namespace muster {

class TorchFailures {
 public:
  // Whether this line, one after the other, describes a later failure.
  bool is_later_failure(std::string_view line);

 private:
  bool inside_ = false;
  int left_ = 0;  // lines until it gives the list up: the log may be cut
};

}  // namespace muster
