// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/pattern_index.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "diagnosis/book/literal_finder.h"

namespace muster {

namespace {

constexpr int64_t kMaxPatternMemory = 1 << 20;
constexpr int64_t kMaxSetMemory = 64 << 20;

RE2::Options options(int64_t memory) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // any bytes
  options.set_log_errors(false);
  options.set_max_mem(memory);
  return options;
}

tl::unexpected<Error> wrong(std::string why) {
  return fail(Error{"rules", "cannot read the rules", std::move(why), "", ""});
}

}  // namespace

struct PatternIndex::Parts {
  struct Pattern {
    std::string text;
    std::vector<std::vector<int>> words;  // sets of numbers, ascending
    std::once_flag once;
    std::unique_ptr<RE2> expression;
  };

  int number_of(const std::string& word) {
    const auto [known, added] =
        numbers.emplace(word, static_cast<int>(numbers.size()));
    if (added) announced.emplace_back();
    return known->second;
  }

  // Patterns of which `found`, ascending, has a word of the first set.
  [[nodiscard]] std::vector<int> candidates(
      const std::vector<int>& found) const {
    std::vector<int> tried;
    for (const int word : found) {
      const std::vector<int>& more = announced[static_cast<size_t>(word)];
      tried.insert(tried.end(), more.begin(), more.end());
    }
    std::sort(tried.begin(), tried.end());
    tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
    return tried;
  }

  [[nodiscard]] bool has_all(int pattern, const std::vector<int>& found) const {
    const auto& sets = patterns[static_cast<size_t>(pattern)]->words;
    return std::all_of(sets.begin() + 1, sets.end(), [&](const auto& set) {
      return std::any_of(set.begin(), set.end(), [&](int word) {
        return std::binary_search(found.begin(), found.end(), word);
      });
    });
  }

  std::vector<std::unique_ptr<Pattern>> patterns;
  std::unordered_map<std::string, int> numbers;  // of words; only to build
  std::vector<std::vector<int>> announced;       // by word: patterns
  LiteralFinder finder;
  std::vector<int> wordless;  // patterns that no word announces, ascending
  std::unique_ptr<RE2::Set> wordless_set;
};

PatternIndex::PatternIndex() : parts_(std::make_unique<Parts>()) {}
PatternIndex::PatternIndex(PatternIndex&&) noexcept = default;
PatternIndex& PatternIndex::operator=(PatternIndex&&) noexcept = default;
PatternIndex::~PatternIndex() = default;

Result<void> PatternIndex::add(std::string_view pattern,
                               const WordSets& words) {
  const int number = static_cast<int>(parts_->patterns.size());
  auto added = std::make_unique<Parts::Pattern>();
  added->text = pattern;
  for (const std::vector<std::string>& set : words) {
    std::vector<int>& numbers = added->words.emplace_back();
    for (const std::string& word : set) {
      numbers.push_back(parts_->number_of(word));
    }
  }
  if (words.empty()) {
    parts_->wordless.push_back(number);
    RE2 expression(added->text, options(kMaxPatternMemory));
    if (!expression.ok()) return wrong("bad pattern: " + expression.error());
  } else {
    for (const int word : added->words.front()) {
      parts_->announced[static_cast<size_t>(word)].push_back(number);
    }
  }
  parts_->patterns.push_back(std::move(added));
  return {};
}

Result<void> PatternIndex::compile() {
  std::vector<std::string> words(parts_->numbers.size());
  for (const auto& [word, number] : parts_->numbers) {
    words[static_cast<size_t>(number)] = word;
  }
  parts_->numbers.clear();
  parts_->finder = LiteralFinder(words);
  if (parts_->wordless.empty()) return {};
  auto set =
      std::make_unique<RE2::Set>(options(kMaxSetMemory), RE2::UNANCHORED);
  for (const int number : parts_->wordless) {
    std::string error;
    const auto& pattern = parts_->patterns[static_cast<size_t>(number)];
    if (set->Add(pattern->text, &error) < 0) {
      return wrong("bad pattern: " + error);
    }
  }
  if (!set->Compile()) {
    return wrong("the patterns together need too much memory");
  }
  parts_->wordless_set = std::move(set);
  return {};
}

std::vector<int> PatternIndex::match(std::string_view line) const {
  const re2::StringPiece text(line.data(), line.size());
  std::vector<int> found;
  if (parts_->wordless_set) {
    parts_->wordless_set->Match(text, &found);
    for (int& number : found) {
      number = parts_->wordless[static_cast<size_t>(number)];
    }
  }
  std::vector<int> words;
  parts_->finder.find(line, words);
  for (const int number : parts_->candidates(words)) {
    if (parts_->has_all(number, words) &&
        RE2::PartialMatch(text, expression(number))) {
      found.push_back(number);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

const RE2& PatternIndex::expression(int number) const {
  Parts::Pattern& pattern = *parts_->patterns[static_cast<size_t>(number)];
  std::call_once(pattern.once, [&pattern] {
    pattern.expression =
        std::make_unique<RE2>(pattern.text, options(kMaxPatternMemory));
  });
  return *pattern.expression;
}

}  // namespace muster
