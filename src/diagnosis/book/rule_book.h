// SPDX-License-Identifier: Apache-2.0
// RuleBook: the failure classes as data. Each class says what it is called,
// which lines show it, how it ranks against others, and what to do. The
// built-in book comes from rules/*.rules; a directory may add to it.
// Refuses: unknown keys, bad patterns, oversized files, each with file:line.
// Immutable once built; any thread may read it. Format: docs/failures.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

// How a class competes for being the first cause; earlier ones win.
enum class CauseRole {
  kControl,      // the job was ended on purpose: time limit, pre-emption
  kCause,        // says what went wrong by itself
  kGeneric,      // true, but a cause in the same rank says more: a traceback
  kWeak,         // a victim's view that may be all there is: a watchdog
  kConsequence,  // another process failed first: a lost peer
};

enum class StrainKind;  // strain.h

struct Rule {
  std::string code;                  // public word: docs/failures.md
  std::vector<std::string> aliases;  // codes of Errors and Findings it covers
  std::string phase;
  CauseRole role = CauseRole::kCause;
  int message_lines = 0;   // 0-99: how far on its message may say why
  int priority = 50;       // 1-99: which class of one rank says the most
  std::string exit_class;  // name of an ExitClass; empty: the rank's own code
  std::string title;       // "a rank ran out of GPU memory"
  std::vector<StrainKind> shows;  // strain of the nodes that may explain it
  // Templates (text_template.h):
  std::string headline;
  std::string cause;
  std::vector<std::string> remedies;  // ranked
  // For the manual:
  std::string meaning;
  std::string confirm;
};

enum class PatternKind {
  kMatch,   // the class' own words: likely
  kMaybe,   // may mean something else too: possible
  kProven,  // written by the kernel or a driver about itself
  kDeath,   // a launcher relays how a process ended; the job did not end well
  kScript,  // a command of the job's script failed; scripts mostly go on
  kSetup,  // what prepares the job's shell failed: the job is hardly missing it
};

using Captures = std::map<std::string, std::string>;

struct LineMatch {
  const Rule* rule = nullptr;
  PatternKind kind = PatternKind::kMatch;
  Captures captures;
};

struct LineMeaning {
  bool ignored = false;   // advice or noise: never a cause
  bool progress = false;  // the program went on: what came before was survived
  bool success = false;   // says that the whole ended well
  bool well = false;      // so, whatever failures came before
  bool fact = false;      // a pattern for facts fits
  std::vector<LineMatch> matches;
  Captures facts;  // numbers of the job: batch size, epoch
};

// The likely class of a line that matches no rule, by its words.
struct LineGuess {
  bool error_shape = false;  // it looks like an error
  bool calm = false;         // it reports nothing bad, whatever its words
  const Rule* rule = nullptr;
};

class RuleBook {
 public:
  // The book in rules/*.rules.
  static const RuleBook& built_in();

  struct Source {
    std::string name;  // for messages
    std::string text;
    bool built_in = false;   // the others may give its classes other texts
    std::string_view words;  // of its patterns, as in BuiltinRules
  };
  // Later sources add classes, and patterns or better texts to known ones.
  static Result<RuleBook> parse(const std::vector<Source>& sources);
  // The built-in book plus every *.rules file of `directory`.
  static Result<RuleBook> with_directory(const std::string& directory);

  RuleBook(RuleBook&&) noexcept;
  RuleBook& operator=(RuleBook&&) noexcept;
  ~RuleBook();

  [[nodiscard]] const std::vector<Rule>& rules() const;
  // By code or alias; null if there is none.
  [[nodiscard]] const Rule* find(std::string_view code) const;
  // Only the first 4 KiB of a line are looked at.
  [[nodiscard]] LineMeaning read(std::string_view line) const;
  // The same without captures and facts, which take longer than all the rest.
  [[nodiscard]] LineMeaning look(std::string_view line) const;
  // The same bounds. `rule` is the first class in the book that has a pattern
  // for it.
  [[nodiscard]] LineGuess guess(std::string_view line) const;

 private:
  struct Compiled;
  explicit RuleBook(std::unique_ptr<Compiled> compiled);
  [[nodiscard]] LineMeaning meaning_of(std::string_view line,
                                       bool captures) const;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace muster
