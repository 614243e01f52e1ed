// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/word_weights.h"

#include <algorithm>
#include <cctype>

namespace muster {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_large(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_small(c) || is_large(c); }

size_t end_of_address(std::string_view line, size_t at) {
  at += 2;  // "0x"
  while (at < line.size() &&
         std::isxdigit(static_cast<unsigned char>(line[at])) != 0) {
    ++at;
  }
  return at;
}

size_t end_of_letters(std::string_view line, size_t at) {
  ++at;
  while (at < line.size() && is_letter(line[at]) &&
         !(is_small(line[at - 1]) && is_large(line[at]))) {
    ++at;
  }
  return at;
}

size_t end_of_digits(std::string_view line, size_t at) {
  while (at < line.size() && is_digit(line[at])) ++at;
  return at;
}

}  // namespace

std::vector<std::string> WordWeights::words_of(std::string_view line) {
  constexpr size_t kLongestNumber = 3;
  constexpr size_t kStem = 5;
  std::vector<std::string> words;
  size_t at = 0;
  while (at < line.size()) {
    const size_t begin = at;
    if (line.substr(at, 2) == "0x" && at + 2 < line.size() &&
        std::isxdigit(static_cast<unsigned char>(line[at + 2])) != 0) {
      at = end_of_address(line, at);
    } else if (is_digit(line[at])) {
      at = end_of_digits(line, at);
      if (at - begin <= kLongestNumber) {
        words.push_back("#" + std::string(line.substr(begin, at - begin)));
      }
    } else if (is_letter(line[at])) {
      at = end_of_letters(line, at);
      if (at - begin < 2) continue;
      std::string word(line.substr(begin, at - begin));
      for (char& c : word) {
        if (is_large(c)) c = static_cast<char>(c - 'A' + 'a');
      }
      if (word.size() > kStem) words.push_back("^" + word.substr(0, kStem));
      words.push_back(std::move(word));
    } else {
      ++at;
    }
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

void WordWeights::add(size_t rule, std::string_view word, int weight) {
  if (often_.size() <= rule) often_.resize(rule + 1, kUnknownRule);
  int& often = often_[rule];
  if (often == kUnknownRule) often = 0;
  if (word == "*") {
    often = weight;
  } else {
    weights_[std::string(word)].push_back({rule, weight});
  }
}

std::optional<WordVote> WordWeights::vote(std::string_view line,
                                          std::string_view hint) const {
  std::vector<std::string> words = words_of(line);
  if (!hint.empty()) words.push_back("~" + std::string(hint));
  std::vector<int> scores = often_;
  bool known = false;
  for (const std::string& word : words) {
    const auto at = weights_.find(word);
    if (at == weights_.end()) continue;
    known = true;
    for (const Weight& weight : at->second) {
      scores[weight.rule] += weight.weight;
    }
  }
  if (!known) return std::nullopt;
  const auto best = std::max_element(scores.begin(), scores.end());
  int next = kUnknownRule;
  for (auto it = scores.begin(); it != scores.end(); ++it) {
    if (it != best) next = std::max(next, *it);
  }
  const bool alone = next == kUnknownRule;
  return WordVote{static_cast<size_t>(best - scores.begin()),
                  alone ? *best : *best - next};
}

}  // namespace muster
