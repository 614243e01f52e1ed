// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/pattern_index.h"

#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <string>
#include <utility>

#include "diagnosis/book/literal_finder.h"

namespace muster {

namespace {

// Shorter words are in too many lines to tell patterns apart.
constexpr int kShortestWord = 3;
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
  re2::FilteredRE2 filtered{kShortestWord};
  LiteralFinder words;
  std::vector<int> wordless;  // patterns that no word announces, ascending
  std::unique_ptr<RE2::Set> wordless_set;
};

PatternIndex::PatternIndex() : parts_(std::make_unique<Parts>()) {}
PatternIndex::PatternIndex(PatternIndex&&) noexcept = default;
PatternIndex& PatternIndex::operator=(PatternIndex&&) noexcept = default;
PatternIndex::~PatternIndex() = default;

Result<void> PatternIndex::add(std::string_view pattern) {
  const re2::StringPiece text(pattern.data(), pattern.size());
  int number = 0;
  if (parts_->filtered.Add(text, options(kMaxPatternMemory), &number) ==
      RE2::NoError) {
    return {};
  }
  return wrong("bad pattern: " + RE2(text, options(kMaxPatternMemory)).error());
}

Result<void> PatternIndex::compile() {
  if (parts_->filtered.NumRegexps() == 0) return {};
  std::vector<std::string> words;
  parts_->filtered.Compile(&words);
  parts_->words = LiteralFinder(words);
  parts_->filtered.AllPotentials({}, &parts_->wordless);
  std::sort(parts_->wordless.begin(), parts_->wordless.end());
  auto set =
      std::make_unique<RE2::Set>(options(kMaxSetMemory), RE2::UNANCHORED);
  for (const int number : parts_->wordless) {
    std::string error;
    if (set->Add(expression(number).pattern(), &error) < 0) {
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
  if (!parts_->wordless_set) return found;
  parts_->wordless_set->Match(text, &found);
  for (int& number : found) {
    number = parts_->wordless[static_cast<size_t>(number)];
  }
  std::vector<int> words;
  parts_->words.find(line, words);
  if (!words.empty()) {
    std::vector<int> tried;
    parts_->filtered.AllPotentials(words, &tried);
    for (const int number : tried) {
      if (std::binary_search(parts_->wordless.begin(), parts_->wordless.end(),
                             number)) {
        continue;
      }
      if (RE2::PartialMatch(text, expression(number))) found.push_back(number);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

const RE2& PatternIndex::expression(int number) const {
  return parts_->filtered.GetRE2(number);
}

}  // namespace muster
