// SPDX-License-Identifier: Apache-2.0
// OwnVerdict: the verdict at the end of a log of muster's launcher, read back
// from its lines. It rests on wait statuses and counters that the log does not
// hold, so explain-log has nothing to add. A later attempt in the same log
// withdraws it. Refuses codes without a rule, and lines of ranks. Not
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diagnosis/book/rule_book.h"
#include "diagnosis/verdict.h"

namespace muster {

class OwnVerdict {
 public:
  explicit OwnVerdict(const RuleBook& rules) : rules_(rules) {}

  // A line that no rank wrote, in the order of the log. true: it is part of a
  // verdict, and says nothing more.
  bool add(std::string_view line);
  [[nodiscard]] const std::optional<Verdict>& verdict() const {
    return verdict_;
  }

 private:
  bool begin(std::string_view code_line);
  bool go_on(std::string_view part);
  [[nodiscard]] std::string code_of(std::string_view also) const;

  const RuleBook& rules_;
  std::string before_;  // the line before: a verdict's first, where one begins
  bool open_ = false;
  std::optional<Verdict> verdict_;
};

}  // namespace muster
