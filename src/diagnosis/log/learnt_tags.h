// SPDX-License-Identifier: Apache-2.0
// LearntTags: names of hosts in front of lines ("gpu003: " of pdsh) that are in
// no list. A word before a colon is often not a host; it is one once a Python
// traceback, which does not occur in a sentence, or a rank's mark stands behind
// it. Not thread-safe.
#pragma once

#include <set>
#include <string>

namespace muster {

class LearntTags {
 public:
  // Takes a known tag off `line` and returns the name; empty: there is none.
  std::string take(std::string& line);
  // The same for a line that came before its tag was known, or whose name only
  // differs in its number from a known one; only for Python's lines.
  [[nodiscard]] std::string take_late(std::string& line) const;

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace muster
