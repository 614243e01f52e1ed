// SPDX-License-Identifier: Apache-2.0
// Finding: something a person should know before or after a run, with what to
// do about it. Produced by planner, fabric policy and diagnosis; never acted
// on by text.
#pragma once

#include <string>

namespace muster {

enum class Severity { kInfo, kWarning, kError };  // kError stops the launch

struct Finding {
  Severity severity = Severity::kInfo;
  std::string code;      // stable word
  std::string text;      // one sentence: what, where
  std::string evidence;  // what was seen
  std::string remedy;    // what to do
};

}  // namespace muster
