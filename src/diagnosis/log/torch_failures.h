// SPDX-License-Identifier: Apache-2.0
// torchrun ends with a list: under "Failures:" the ranks that failed later,
// under "Root Cause (first observed failure):" the first one. Tells which lines
// belong to the former, so that a victim does not count as the first.
// Refuses: nothing. Pure, except for its position; not thread-safe.
#pragma once

#include <string_view>

namespace muster {

class TorchFailures {
 public:
  // Whether this line, one after the other, describes a later failure.
  bool is_later_failure(std::string_view line);

 private:
  bool inside_ = false;
  int left_ = 0;  // lines until the list is given up: the log may be cut
};

}  // namespace muster
