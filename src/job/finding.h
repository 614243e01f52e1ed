// SPDX-License-Identifier: Apache-2.0
// Finding: something a person should know before or after a run, with what to
// do about it. Produced by planner, fabric policy and diagnosis; never acted
// on by text.
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
  std::string evidence;  // what was seen
  std::string remedy;    // what to do
  int rank = -1;         // that it is about; -1: of no single one
};

}  // namespace muster
