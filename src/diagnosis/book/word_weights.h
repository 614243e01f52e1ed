// SPDX-License-Identifier: Apache-2.0
// WordWeights: what the words of an error line speak for, each by itself, as
// learnt from messages whose class is known (rules/words.rules): "oom" for GPU
// memory, "resolve" for DNS. A word may also speak against a class. A class'
// score is the sum over the line's words; how far the best is ahead of the next
// says how much that is worth.
// Refuses: to know grammar. "not" is one word among others. Immutable once
// filled; any thread may read it. Pure.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster {

struct WordVote {
  size_t rule = 0;  // as in add()
  int ahead = 0;    // of the next class, in tenths of a natural logarithm
};

class WordWeights {
 public:
  // "*": how often the class is met.
  void add(size_t rule, std::string_view word, int weight);
  // `hint`: the class that patterns take the line for; "": none.
  [[nodiscard]] std::optional<WordVote> vote(std::string_view line,
                                             std::string_view hint) const;

  // Letters in small ones, "camelCase" as two words, numbers of up to three
  // digits as "#12", and how a longer word begins, "^addre"; each once. As in
  // word_model.py.
  static std::vector<std::string> words_of(std::string_view line);

 private:
  static constexpr int kUnknownRule = std::numeric_limits<int>::min();

  struct Weight {
    size_t rule = 0;
    int weight = 0;
  };
  std::unordered_map<std::string, std::vector<Weight>> weights_;
  std::vector<int> often_;  // by rule; kUnknownRule: no words of it
};

}  // namespace muster
