// SPDX-License-Identifier: Apache-2.0
// Finds which of many words occur in a line, in one pass whose cost does not
// depend on how many there are (Aho and Corasick). Letters match in either
// case. Refuses: nothing; an empty word is never found.
// Immutable once built; any thread may use it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class LiteralFinder {
 public:
  LiteralFinder() = default;
  // `words` in lower case.
  explicit LiteralFinder(const std::vector<std::string>& words);

  // The numbers of the words in `line`, ascending, each once.
  void find(std::string_view line, std::vector<int>& numbers) const;

 private:
  void number_letters(const std::vector<std::string>& words);
  void plant(const std::vector<std::string>& words);
  void link();

  // Only bytes that some word has are letters; 0 stands for all others.
  std::array<uint8_t, 256> letter_{};
  size_t letters_ = 1;
  std::vector<int32_t> next_;   // state x letter -> state
  std::vector<int32_t> word_;   // that ends in this state; -1: none
  std::vector<int32_t> other_;  // the next shorter state where a word ends
};

}  // namespace muster
