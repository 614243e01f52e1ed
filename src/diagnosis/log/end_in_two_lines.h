// SPDX-License-Identifier: Apache-2.0
// EndInTwoLines: people end a log with "$ echo $?" and the number below it, and
// prterun breaks its sentence "… exited on" before "signal 9 (Killed).". Joins
// the two lines to one. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace muster {

class EndInTwoLines {
 public:
  // The beginning and `line`, if that goes on with it; else empty.
  std::string joined(std::string_view line) {
    constexpr std::string_view kQuestion = "echo $?";
    constexpr size_t kLongest = 3;
    const std::string_view text = trim(line);
    const std::string before = std::exchange(
        before_, text.ends_with(kQuestion)      ? std::string(kQuestion)
                 : text.ends_with(" exited on") ? std::string(text)
                                                : std::string());
    const bool number =
        !text.empty() && text.size() <= kLongest &&
        text.find_first_not_of("0123456789") == std::string_view::npos;
    const bool fits =
        before == kQuestion ? number : text.starts_with("signal ");
    if (before.empty() || !fits) return {};
    return before + " " + std::string(text);
  }

 private:
  std::string before_;  // empty: it asks for nothing
};

}  // namespace muster
