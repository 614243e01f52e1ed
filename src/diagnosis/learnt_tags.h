// SPDX-License-Identifier: Apache-2.0
// LearntTags: names of hosts in front of lines ("gpu003: " of pdsh) that no
// list knows. A word before a colon is too often no host; it is one once a
// Python traceback stands behind it, because nobody writes that into a
// sentence; or a rank's mark. Not thread-safe.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace muster {

class LearntTags {
 public:
  // Takes a known tag off `line` and returns the name; empty: there is none.
  std::string take(std::string& line);

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace muster
