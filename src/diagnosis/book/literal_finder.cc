// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/literal_finder.h"

#include <algorithm>

namespace muster {

LiteralFinder::LiteralFinder(const std::vector<std::string>& words) {
  number_letters(words);
  plant(words);
  link();
}

void LiteralFinder::number_letters(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const char c : word) {
      uint8_t& number = letter_[static_cast<uint8_t>(c)];
      if (number == 0) number = static_cast<uint8_t>(letters_++);
    }
  }
  for (char c = 'a'; c <= 'z'; ++c) {
    letter_[static_cast<uint8_t>(c - 'a' + 'A')] =
        letter_[static_cast<uint8_t>(c)];
  }
}

// The tree of all words. -1: no such branch.
void LiteralFinder::plant(const std::vector<std::string>& words) {
  size_t most = 1;  // states
  for (const std::string& word : words) most += word.size();
  next_.reserve(most * letters_);
  next_.assign(letters_, -1);
  word_.assign(1, -1);
  for (size_t number = 0; number < words.size(); ++number) {
    if (words[number].empty()) continue;
    size_t state = 0;
    for (const char c : words[number]) {
      const size_t branch = state * letters_ + letter_[static_cast<uint8_t>(c)];
      if (next_[branch] < 0) {
        next_[branch] = static_cast<int32_t>(word_.size());
        next_.resize(next_.size() + letters_, -1);
        word_.push_back(-1);
      }
      state = static_cast<size_t>(next_[branch]);
    }
    word_[state] = static_cast<int32_t>(number);
  }
}

// Where no branch goes on, the longest end of what was read that does.
void LiteralFinder::link() {
  const size_t states = word_.size();
  std::vector<int32_t> shorter(states, 0);
  std::vector<int32_t> queue = {0};
  queue.reserve(states);
  other_.assign(states, -1);
  for (size_t at = 0; at < queue.size(); ++at) {
    const auto state = static_cast<size_t>(queue[at]);
    const auto back = static_cast<size_t>(shorter[state]);
    if (state != 0) {
      other_[state] = word_[back] >= 0 ? shorter[state] : other_[back];
    }
    for (size_t letter = 0; letter < letters_; ++letter) {
      int32_t& branch = next_[state * letters_ + letter];
      const int32_t otherwise =
          state == 0 ? 0 : next_[back * letters_ + letter];
      if (branch < 0) {
        branch = otherwise;
        continue;
      }
      shorter[static_cast<size_t>(branch)] = otherwise;
      queue.push_back(branch);
    }
  }
}

void LiteralFinder::find(std::string_view line,
                         std::vector<int>& numbers) const {
  numbers.clear();
  if (next_.empty()) return;
  size_t state = 0;
  for (const char c : line) {
    const uint8_t letter = letter_[static_cast<uint8_t>(c)];
    state = static_cast<size_t>(next_[state * letters_ + letter]);
    int32_t ends =
        word_[state] >= 0 ? static_cast<int32_t>(state) : other_[state];
    for (; ends >= 0; ends = other_[static_cast<size_t>(ends)]) {
      numbers.push_back(word_[static_cast<size_t>(ends)]);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace muster
