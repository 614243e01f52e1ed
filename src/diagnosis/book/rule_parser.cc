// SPDX-License-Identifier: Apache-2.0
// The reader behind rule_parser.h. Pure.
#include "diagnosis/book/rule_parser.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "diagnosis/strain.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

struct StrainWord {
  std::string_view word;
  StrainKind kind;
};

constexpr std::array<StrainWord, 5> kStrainWords = {
    StrainWord{"network", StrainKind::kNetwork},
    {"cpu", StrainKind::kCpu},
    {"memory", StrainKind::kMemory},
    {"storage", StrainKind::kStorage},
    {"gpu", StrainKind::kGpu}};

struct RoleWord {
  std::string_view word;
  CauseRole role;
};
constexpr std::array<RoleWord, 5> kRoles = {{
    {"control", CauseRole::kControl},
    {"cause", CauseRole::kCause},
    {"generic", CauseRole::kGeneric},
    {"weak", CauseRole::kWeak},
    {"consequence", CauseRole::kConsequence},
}};

struct PatternWord {
  std::string_view key;
  PatternUse use;
  PatternKind kind;
};
constexpr std::array<PatternWord, 15> kPatternKeys = {{
    {"match", PatternUse::kClass, PatternKind::kMatch},
    {"maybe", PatternUse::kClass, PatternKind::kMaybe},
    {"proven", PatternUse::kClass, PatternKind::kProven},
    {"death", PatternUse::kClass, PatternKind::kDeath},
    {"script", PatternUse::kClass, PatternKind::kScript},
    {"setup", PatternUse::kClass, PatternKind::kSetup},
    {"ignore", PatternUse::kIgnore, PatternKind::kMatch},
    {"cut", PatternUse::kCut, PatternKind::kMatch},
    {"progress", PatternUse::kProgress, PatternKind::kMatch},
    {"success", PatternUse::kSuccess, PatternKind::kMatch},
    {"well", PatternUse::kWell, PatternKind::kMatch},
    {"fact", PatternUse::kFact, PatternKind::kMatch},
    {"guess", PatternUse::kGuess, PatternKind::kMaybe},
    {"shape", PatternUse::kShape, PatternKind::kMaybe},
    {"calm", PatternUse::kCalm, PatternKind::kMaybe},
}};

bool is_code(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

class RulesReader {
 public:
  RulesReader(RuleSet& set, const std::string& file)
      : set_(set), file_(file), known_(set.rules.size()) {}

  Status read(std::string_view text) {
    for (const std::string_view raw : split(text, '\n')) {
      ++line_;
      if (Status status = take(raw); !status) return status;
    }
    return flush();
  }

 private:
  [[nodiscard]] std::string place(int line) const {
    return file_ + ":" + std::to_string(line);
  }

  [[nodiscard]] tl::unexpected<Error> wrong(std::string why) const {
    return fail(Error{"rules", "cannot read the rules", std::move(why),
                      place(key_line_), ""});
  }

  Status take(std::string_view raw) {
    if (trim(raw).empty()) return flush();
    if (raw.front() == '#') return {};
    if (raw.starts_with("  ")) {
      if (key_.empty()) {
        key_line_ = line_;
        return wrong("a continued line, but nothing to continue");
      }
      value_ += ' ';
      value_ += trim(raw);
      return {};
    }
    if (Status status = flush(); !status) return status;
    key_line_ = line_;
    if (raw.front() == '[') return open(trim(raw));
    const size_t colon = raw.find(':');
    if (colon == std::string_view::npos) return wrong("no 'key: value' here");
    key_ = trim(raw.substr(0, colon));
    value_ = trim(raw.substr(colon + 1));
    return {};
  }

  Status open(std::string_view head) {
    if (!head.ends_with("]")) return wrong("no ] at the end of the class");
    head = head.substr(1, head.size() - 2);
    in_class_ = head != "*";
    opened_ = true;
    if (!in_class_) return {};
    if (!is_code(head)) {
      return wrong("a class is named by a-z, 0-9 and _ (64 at most)");
    }
    for (rule_ = 0; rule_ < set_.rules.size(); ++rule_) {
      if (set_.rules[rule_].code == head) return {};
    }
    Rule rule;
    rule.code = head;
    set_.places.push_back(place(line_));
    set_.rules.push_back(std::move(rule));
    return {};
  }

  Status flush() {
    if (key_.empty()) return {};
    const Status status = apply();
    key_.clear();
    return status;
  }

  Status apply() {
    if (!opened_) return wrong("'" + key_ + "' stands before any [class]");
    if (value_.empty()) return wrong("'" + key_ + "' has no value");
    for (const PatternWord& word : kPatternKeys) {
      if (key_ == word.key) return add_pattern(word);
    }
    if (!in_class_) return wrong("unknown key '" + key_ + "' in [*]");
    return apply_field(set_.rules[rule_]);
  }

  Status add_pattern(const PatternWord& word) {
    const bool for_class =
        word.use == PatternUse::kClass || word.use == PatternUse::kGuess;
    if (for_class != in_class_) {
      return wrong("'" + key_ + "' belongs " +
                   (for_class ? "into a class" : "into [*]"));
    }
    set_.patterns.push_back({word.use, word.kind,
                             in_class_ ? set_.rules[rule_].code : "", value_,
                             place(key_line_)});
    return {};
  }

  // A second one would silently replace the first.
  Status apply_field(Rule& rule) {
    constexpr std::array<std::string_view, 3> kRepeated = {"remedy", "alias",
                                                           "shows"};
    if (std::find(kRepeated.begin(), kRepeated.end(), key_) ==
        kRepeated.end()) {
      const auto [first, is_new] = set_.set_at.emplace(
          std::make_pair(rule.code, key_), place(key_line_));
      if (!is_new) {
        return wrong("'" + key_ + "' of [" + rule.code +
                     "] was set before, at " + first->second +
                     "; keep one of them");
      }
    }
    return set_field(rule);
  }

  Status set_field(Rule& rule) {
    if (key_ == "remedy") {
      // Only the first few are shown: those of a site come before ours.
      auto at = rule.remedies.end();
      if (rule_ < known_) at = rule.remedies.begin() + added_[rule_]++;
      rule.remedies.insert(at, value_);
      return {};
    }
    if (key_ == "alias") {
      for (const std::string_view word : split_words(value_)) {
        rule.aliases.emplace_back(word);
      }
      return {};
    }
    if (key_ == "role") return apply_role(rule);
    if (key_ == "priority") return apply_number(rule.priority);
    if (key_ == "message") return apply_number(rule.message_lines);
    if (key_ == "shows") return apply_shows(rule);
    if (key_ == "exit") {
      if (!exit_class_by_name(value_)) {
        return wrong("'" + value_ + "' is not an exit class");
      }
      rule.exit_class = value_;
      return {};
    }
    std::string* const field = text_field(rule);
    if (field == nullptr) return wrong("unknown key '" + key_ + "'");
    *field = value_;
    return {};
  }

  Status apply_number(int& field) {
    const auto number = parse_integer(value_);
    if (!number || *number < 1 || *number > 99) {
      return wrong("a " + key_ + " is a number from 1 to 99");
    }
    field = static_cast<int>(*number);
    return {};
  }

  Status apply_role(Rule& rule) {
    for (const RoleWord& known : kRoles) {
      if (value_ != known.word) continue;
      rule.role = known.role;
      return {};
    }
    return wrong(
        "a role is control, cause, generic, weak or consequence, not '" +
        value_ + "'");
  }

  Status apply_shows(Rule& rule) {
    for (const auto word : split_words(value_)) {
      const auto known = std::find_if(
          kStrainWords.begin(), kStrainWords.end(),
          [word](const auto& entry) { return entry.word == word; });
      if (known == kStrainWords.end()) {
        return wrong("shows lists network, cpu, memory or storage, not '" +
                     std::string(word) + "'");
      }
      rule.shows.push_back(known->kind);
    }
    return {};
  }

  std::string* text_field(Rule& rule) const {
    if (key_ == "phase") return &rule.phase;
    if (key_ == "title") return &rule.title;
    if (key_ == "headline") return &rule.headline;
    if (key_ == "cause") return &rule.cause;
    if (key_ == "meaning") return &rule.meaning;
    if (key_ == "confirm") return &rule.confirm;
    return nullptr;
  }

  RuleSet& set_;
  const std::string& file_;
  int line_ = 0;
  int key_line_ = 0;
  bool opened_ = false;
  bool in_class_ = false;
  size_t rule_ = 0;
  size_t known_;                 // classes of earlier texts
  std::map<size_t, int> added_;  // remedies for a known class
  std::string key_;
  std::string value_;
};

}  // namespace

Status check_classes(const RuleSet& set) {
  for (size_t i = 0; i < set.rules.size(); ++i) {
    const Rule& rule = set.rules[i];
    if (!rule.title.empty()) continue;
    std::vector<std::string> codes;
    for (const Rule& other : set.rules) {
      if (!other.title.empty()) codes.push_back(other.code);
    }
    const auto meant = nearest(rule.code, codes);
    return fail(Error{"rules", "cannot read the rules",
                      "no class '" + rule.code + "' is known" +
                          (meant ? ", did you mean " + *meant + "?"
                                 : "; a new one needs a title"),
                      set.places[i], ""});
  }
  return {};
}

Status parse_rules(RuleSet& set, std::string_view text,
                   const std::string& file) {
  if (text.size() > kMaxRulesText) {
    return fail(Error{"rules", "cannot read the rules",
                      "more than " + human_bytes(kMaxRulesText), file, ""});
  }
  return RulesReader(set, file).read(text);
}

}  // namespace muster
