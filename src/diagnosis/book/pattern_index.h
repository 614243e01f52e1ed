// SPDX-License-Identifier: Apache-2.0
// Many patterns, one line: which of them match? Most patterns need some word;
// all words are looked for in one pass, and only patterns whose words are in
// the line are tried. Those without one (few) are tried together. RE2 keeps
// every step linear in the line.
// Refuses: a pattern that RE2 does not take. Immutable once built; any thread
// may use it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}  // namespace re2

namespace muster {

class PatternIndex {
 public:
  PatternIndex();
  PatternIndex(PatternIndex&&) noexcept;
  PatternIndex& operator=(PatternIndex&&) noexcept;
  ~PatternIndex();

  // Patterns have the numbers 0, 1, … in the order of these calls. The error
  // is what RE2 says about the pattern.
  Result<void> add(std::string_view pattern);
  // After the last one.
  Result<void> compile();

  // The numbers of the patterns that match somewhere in `line`, ascending.
  [[nodiscard]] std::vector<int> match(std::string_view line) const;
  [[nodiscard]] const re2::RE2& expression(int number) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
