// SPDX-License-Identifier: Apache-2.0
// Python reports an exception that it swallows, in a destructor or a thread's
// end, with "Exception ignored in: …" and a whole traceback below it. Finds the
// lines of one writer that belong to it: the program went on. Pure, except for
// its position; not thread-safe.
#pragma once

#include <string_view>

namespace muster {

class IgnoredException {
 public:
  // Whether this line, one after the other, belongs to such an exception.
  bool is_part(std::string_view line);

 private:
  int left_ = 0;  // lines until it gives up: the log may be cut
};

}  // namespace muster
