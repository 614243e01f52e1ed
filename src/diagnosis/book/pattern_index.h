// SPDX-License-Identifier: Apache-2.0
// Many patterns, one line: which of them match? Most patterns need some word;
// all words are looked for in one pass, and only patterns whose words are in
// the line are tried. RE2 compiles such a pattern when it is first tried. The
// patterns without words (few) are tried together. RE2 keeps every step linear
// in the line.
// Refuses: a pattern without words that RE2 does not take. Immutable to its
// callers once built; any thread may use it.
#pragma once

#include <memory>
#include <string>
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

  // A line that matches the pattern has a word of each set. In small letters.
  using WordSets = std::vector<std::vector<std::string>>;

  // Patterns have the numbers 0, 1, … in the order of these calls. A pattern
  // with words must be one that RE2 takes: a test sees to the built-in ones.
  // The error is what RE2 says about a pattern without.
  Result<void> add(std::string_view pattern, const WordSets& words = {});
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
