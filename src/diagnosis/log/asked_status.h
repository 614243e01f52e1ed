// SPDX-License-Identifier: Apache-2.0
// AskedStatus: people end a log with "$ echo $?" and the number below it. Joins
// the two lines to one, "echo $? 139". Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace muster {

class AskedStatus {
 public:
  // The question and `line`, if that is the answer; else empty.
  std::string answered(std::string_view line) {
    constexpr std::string_view kQuestion = "echo $?";
    constexpr size_t kLongest = 3;
    const std::string_view text = trim(line);
    const bool asked = std::exchange(asked_, text.ends_with(kQuestion));
    const bool number =
        !text.empty() && text.size() <= kLongest &&
        text.find_first_not_of("0123456789") == std::string_view::npos;
    if (!asked || !number) return {};
    return std::string(kQuestion) + " " + std::string(text);
  }

 private:
  bool asked_ = false;
};

}  // namespace muster
