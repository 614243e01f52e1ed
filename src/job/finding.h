// SPDX-License-Identifier: Apache-2.0
// Finding: a fact that a person should know before or after a run, with its
// remedy. From planner, fabric policy and diagnosis; its text never decides
// anything.
#pragma once

#include <string>
#include <string_view>

namespace muster {

enum class Severity { kInfo, kWarning, kError };  // kError stops the launch

// The word that JSON and reports use.
constexpr const char* severity_name(Severity severity) {
  return severity == Severity::kError     ? "error"
         : severity == Severity::kWarning ? "warning"
                                          : "info";
}
constexpr Severity severity_of(std::string_view name) {
  return name == "error"     ? Severity::kError
         : name == "warning" ? Severity::kWarning
                             : Severity::kInfo;
}

struct Finding {
  Severity severity = Severity::kInfo;
  std::string code;      // stable word
  std::string text;      // one sentence: what, where
  std::string evidence;  // evidence
  std::string remedy;    // remedy
  int rank = -1;         // the rank; -1: not a single one
};

}  // namespace muster
