// SPDX-License-Identifier: Apache-2.0
// Reads the text form of rules: `[code]` opens a class, `key: value` lines
// fill it, a line that starts with two blanks goes on with the value before.
// The class `[*]` holds patterns that belong to no class. Pure.
// Refuses: unknown keys and words, values that are missing, a key that a class
// has twice, more than kMaxRulesText bytes; each with file:line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "diagnosis/book/rule_book.h"

namespace muster {

constexpr size_t kMaxRulesText = 1 << 20;

enum class PatternUse {
  kClass,
  kIgnore,
  kCut,
  kProgress,
  kSuccess,
  kWell,  // whatever came before, the whole ended well
  kFact,
  kGuess,  // of a class, where nothing else is known
  kShape,  // what an error looks like
  kCalm,   // not an error, whatever its words
};

struct PatternText {
  PatternUse use = PatternUse::kClass;
  PatternKind kind = PatternKind::kMatch;  // kClass only
  std::string code;                        // kClass and kGuess only
  std::string expression;
  std::string where;  // file:line
};

struct RuleSet {
  std::vector<Rule> rules;
  std::vector<std::string> places;  // of the rules: file:line of the first head
  std::vector<PatternText> patterns;
  // Where a key was set that a class has once, by class and key. Cleared where
  // others may set it again.
  std::map<std::pair<std::string, std::string>, std::string> set_at;
};

// Adds what `text` holds to `set`. Error code "rules".
Status parse_rules(RuleSet& set, std::string_view text,
                   const std::string& file);

// Refuses a class without a title, which a verdict needs: most often it is a
// known one, misspelt. Once all texts are in.
Status check_classes(const RuleSet& set);

}  // namespace muster
