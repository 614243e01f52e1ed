// SPDX-License-Identifier: Apache-2.0
// A PatternIndex says which patterns a line holds; only those are run again
// for their named groups.
#include "diagnosis/book/rule_book.h"

#include <dirent.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "base/fd.h"
#include "base/text.h"
#include "diagnosis/book/builtin_rules.h"
#include "diagnosis/book/foreign_words.h"
#include "diagnosis/book/pattern_index.h"
#include "diagnosis/book/rule_parser.h"

namespace muster {

namespace {

constexpr size_t kMaxLine = 4096;
constexpr size_t kMaxCapture = 256;
constexpr size_t kMaxPatterns = 4096;

struct Pattern {
  PatternText text;
  size_t rule = 0;         // kClass and kGuess only
  std::string_view words;  // as in BuiltinRules
};

bool is_for_guesses(PatternUse use) {
  return use == PatternUse::kGuess || use == PatternUse::kShape ||
         use == PatternUse::kCalm;
}

Captures captures_of(const RE2& expression, std::string_view line) {
  Captures captures;
  const int count = expression.NumberOfCapturingGroups();
  if (count == 0) return captures;
  std::vector<re2::StringPiece> groups(static_cast<size_t>(count) + 1);
  const re2::StringPiece text(line.data(), line.size());
  if (!expression.Match(text, 0, text.size(), RE2::UNANCHORED, groups.data(),
                        count + 1)) {
    return captures;
  }
  for (const auto& [name, index] : expression.NamedCapturingGroups()) {
    const re2::StringPiece& group = groups[static_cast<size_t>(index)];
    if (group.empty()) continue;
    captures[name].assign(group.data(), std::min(group.size(), kMaxCapture));
  }
  return captures;
}

// Where the first match begins.
size_t start_of(const RE2& expression, std::string_view line) {
  re2::StringPiece found;
  const re2::StringPiece text(line.data(), line.size());
  if (!expression.Match(text, 0, text.size(), RE2::UNANCHORED, &found, 1)) {
    return line.size();
  }
  return static_cast<size_t>(found.data() - text.data());
}

Result<std::vector<RuleBook::Source>> read_directory(
    const std::string& directory) {
  DIR* const open = ::opendir(directory.c_str());
  if (open == nullptr) {
    return fail_errno("rules", "cannot read the rules", directory);
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    if (name == ".rules") {
      ::closedir(open);
      return fail(Error{"rules", "cannot read the rules",
                        "a file there has no name but .rules", directory,
                        "name it SOMETHING.rules"});
    }
    if (name.ends_with(".rules")) names.emplace_back(name);
  }
  ::closedir(open);
  if (names.empty()) {
    return fail(Error{"rules", "cannot read the rules",
                      "no file there ends with .rules", directory, ""});
  }
  std::sort(names.begin(), names.end());
  std::vector<RuleBook::Source> sources;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    auto text = read_file(path, kMaxRulesText);
    if (!text) return fail(text.error());
    sources.push_back({path, *std::move(text), false});
  }
  return sources;
}

// Several patterns of one class may fit a line: together they tell the most.
void add_match(std::vector<LineMatch>& matches, LineMatch match) {
  const auto same =
      std::find_if(matches.begin(), matches.end(), [&](const LineMatch& known) {
        return known.rule == match.rule && known.kind == match.kind;
      });
  if (same == matches.end()) {
    matches.push_back(std::move(match));
  } else {
    same->captures.merge(match.captures);
  }
}

std::vector<RuleBook::Source> built_in_sources() {
  std::vector<RuleBook::Source> sources;
  for (const BuiltinRules& file : builtin_rules()) {
    sources.push_back(
        {std::string(file.name), std::string(file.text), true, file.words});
  }
  return sources;
}

// Of the built-in patterns, by FILE:LINE.
std::unordered_map<std::string_view, std::string_view> words_by_place(
    const std::vector<RuleBook::Source>& sources) {
  std::unordered_map<std::string_view, std::string_view> words;
  for (const RuleBook::Source& source : sources) {
    for (const std::string_view row : split(source.words, '\n')) {
      const size_t end = row.find('\x1e');
      if (end == std::string_view::npos) continue;
      words.emplace(row.substr(0, end), row.substr(end + 1));
    }
  }
  return words;
}

}  // namespace

struct RuleBook::Compiled {
  // Without a look at the patterns.
  static Result<RuleBook> parse_texts(const std::vector<Source>& sources);
  // Error: a pattern that RE2 does not take.
  Status compile();
  Status compile_guesses();
  void compile_guesses_once() {  // most logs need none
    std::call_once(once_guesses, [this] {
      if (!compile_guesses()) std::abort();
    });
  }
  // At the first line to be read: jobs that end well have no line read.
  void compile_once() {
    std::call_once(once, [this] {
      // A user's patterns were compiled before; the unit test compiles ours.
      if (!compile()) std::abort();
    });
  }

  // Where a line turns from what happened to what might have been the reason.
  [[nodiscard]] size_t told_until(std::string_view line,
                                  const std::vector<int>& hits) const {
    size_t end = line.size();
    for (const int hit : hits) {
      const Pattern& pattern = patterns[static_cast<size_t>(hit)];
      if (pattern.text.use != PatternUse::kCut) continue;
      end = std::min(end, start_of(index.expression(hit), line));
    }
    return end;
  }

  std::vector<Rule> rules;
  std::vector<Pattern> patterns;
  PatternIndex index;
  bool compiled = false;
  std::once_flag once;
  std::vector<Pattern> guess_patterns;
  PatternIndex guess_index;
  bool compiled_guesses = false;
  std::once_flag once_guesses;
};

namespace {

PatternIndex::WordSets word_sets(std::string_view text) {
  PatternIndex::WordSets sets;
  if (text.empty()) return sets;
  for (const std::string_view set : split(text, '\x1e')) {
    auto& words = sets.emplace_back();
    for (const std::string_view word : split(set, '\x1f')) {
      words.emplace_back(word);
    }
  }
  return sets;
}

Status compile_all(const std::vector<Pattern>& patterns, PatternIndex& index) {
  for (const Pattern& pattern : patterns) {
    auto added = index.add(pattern.text.expression, word_sets(pattern.words));
    if (!added) {
      Error error = added.error();
      error.where = pattern.text.where;
      return fail(std::move(error));
    }
  }
  if (auto ready = index.compile(); !ready) return fail(ready.error());
  return {};
}

}  // namespace

Status RuleBook::Compiled::compile() {
  if (compiled) return {};
  const Status status = compile_all(patterns, index);
  compiled = status.has_value();
  return status;
}

Status RuleBook::Compiled::compile_guesses() {
  if (compiled_guesses) return {};
  const Status status = compile_all(guess_patterns, guess_index);
  compiled_guesses = status.has_value();
  return status;
}

RuleBook::RuleBook(std::unique_ptr<Compiled> compiled)
    : compiled_(std::move(compiled)) {}
RuleBook::RuleBook(RuleBook&&) noexcept = default;
RuleBook& RuleBook::operator=(RuleBook&&) noexcept = default;
RuleBook::~RuleBook() = default;

Result<RuleBook> RuleBook::parse(const std::vector<Source>& sources) {
  auto book = Compiled::parse_texts(sources);
  if (!book) return book;
  if (auto compiled = book->compiled_->compile(); !compiled) {
    return fail(compiled.error());
  }
  if (auto compiled = book->compiled_->compile_guesses(); !compiled) {
    return fail(compiled.error());
  }
  return book;
}

Result<RuleBook> RuleBook::Compiled::parse_texts(
    const std::vector<Source>& sources) {
  RuleSet parsed;
  for (const Source& source : sources) {
    if (Status status = parse_rules(parsed, source.text, source.name);
        !status) {
      return fail(status.error());
    }
    if (source.built_in) parsed.set_at.clear();
  }
  if (Status status = check_classes(parsed); !status) {
    return fail(status.error());
  }
  if (parsed.patterns.size() > kMaxPatterns) {
    return fail(Error{"rules", "cannot read the rules",
                      "more than " + std::to_string(kMaxPatterns) + " patterns",
                      sources.empty() ? "" : sources.back().name, ""});
  }
  auto book = std::make_unique<Compiled>();
  book->rules = std::move(parsed.rules);
  const auto index_of = [&book](const std::string& code) {
    size_t found = 0;
    for (size_t i = 0; i < book->rules.size(); ++i) {
      if (book->rules[i].code == code) found = i;
    }
    return found;
  };
  const auto words = words_by_place(sources);
  for (PatternText& text : parsed.patterns) {
    Pattern pattern;
    pattern.rule = index_of(text.code);
    if (const auto known = words.find(text.where); known != words.end()) {
      pattern.words = known->second;
    }
    pattern.text = std::move(text);
    auto& list = is_for_guesses(pattern.text.use) ? book->guess_patterns
                                                  : book->patterns;
    list.push_back(std::move(pattern));
  }
  return RuleBook(std::move(book));
}

Result<RuleBook> RuleBook::with_directory(const std::string& directory) {
  auto added = read_directory(directory);
  if (!added) return fail(added.error());
  std::vector<Source> sources = built_in_sources();
  std::move(added->begin(), added->end(), std::back_inserter(sources));
  return parse(sources);
}

const RuleBook& RuleBook::built_in() {
  static const RuleBook book = [] {
    auto parsed = Compiled::parse_texts(built_in_sources());
    // The unit test parses the same files: they cannot be wrong here.
    if (!parsed) std::abort();
    return *std::move(parsed);
  }();
  return book;
}

const std::vector<Rule>& RuleBook::rules() const { return compiled_->rules; }

const Rule* RuleBook::find(std::string_view code) const {
  for (const Rule& rule : compiled_->rules) {
    if (rule.code == code) return &rule;
  }
  for (const Rule& rule : compiled_->rules) {
    if (std::find(rule.aliases.begin(), rule.aliases.end(), code) !=
        rule.aliases.end()) {
      return &rule;
    }
  }
  return nullptr;
}

LineMeaning RuleBook::read(std::string_view line) const {
  return meaning_of(line, true);
}

LineMeaning RuleBook::look(std::string_view line) const {
  return meaning_of(line, false);
}

LineMeaning RuleBook::meaning_of(std::string_view line, bool captures) const {
  line = line.substr(0, kMaxLine);
  const std::string english = in_english(line);
  if (!english.empty()) line = english;
  LineMeaning meaning;
  compiled_->compile_once();
  const std::vector<int> hits = compiled_->index.match(line);
  if (hits.empty()) return meaning;
  const size_t end = compiled_->told_until(line, hits);
  if (end < line.size()) return meaning_of(line.substr(0, end), captures);
  const auto told = [&](int hit) {
    return captures ? captures_of(compiled_->index.expression(hit), line)
                    : Captures{};
  };
  for (const int hit : hits) {
    const Pattern& pattern = compiled_->patterns[static_cast<size_t>(hit)];
    switch (pattern.text.use) {
      case PatternUse::kIgnore:
        meaning.ignored = true;
        break;
      case PatternUse::kCut:
        break;
      case PatternUse::kProgress:
        meaning.progress = true;
        break;
      case PatternUse::kSuccess:
        meaning.success = true;
        break;
      case PatternUse::kWell:
        meaning.success = meaning.well = true;
        break;
      case PatternUse::kFact:
        meaning.fact = true;
        meaning.facts.merge(told(hit));
        break;
      case PatternUse::kClass:
        add_match(meaning.matches, {&compiled_->rules[pattern.rule],
                                    pattern.text.kind, told(hit)});
        break;
      default:  // patterns for guesses are in an index of their own
        break;
    }
  }
  // A file that a shell's start file lacks is not data of the program.
  const auto is_setup = [](const LineMatch& match) {
    return match.kind == PatternKind::kSetup;
  };
  if (std::any_of(meaning.matches.begin(), meaning.matches.end(), is_setup)) {
    std::erase_if(meaning.matches, std::not_fn(is_setup));
  }
  // A kernel's or driver's message about itself counts, whatever its words.
  if (meaning.ignored) {
    std::erase_if(meaning.matches, [](const LineMatch& match) {
      return match.kind != PatternKind::kProven;
    });
    meaning.ignored = meaning.matches.empty();
  }
  return meaning;
}

LineGuess RuleBook::guess(std::string_view line) const {
  LineGuess guess;
  line = line.substr(0, kMaxLine);
  const std::string english = in_english(line);
  if (!english.empty()) line = english;
  compiled_->compile_guesses_once();
  for (const int hit : compiled_->guess_index.match(line)) {
    const Pattern& pattern =
        compiled_->guess_patterns[static_cast<size_t>(hit)];
    guess.error_shape |= pattern.text.use == PatternUse::kShape;
    guess.calm |= pattern.text.use == PatternUse::kCalm;
    if (pattern.text.use == PatternUse::kGuess && guess.rule == nullptr) {
      guess.rule = &compiled_->rules[pattern.rule];
    }
  }
  return guess;
}

}  // namespace muster
