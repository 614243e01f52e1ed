// SPDX-License-Identifier: Apache-2.0
// "exit code 139", "code -11": an end by a signal, as shells and Python count
// them, is one of the signal's class. Refuses: SIGTERM and SIGINT, with which
// others end a program, and SIGBUS, which has several reasons. Pure.
#include <array>
#include <csignal>

#include "base/text.h"
#include "diagnosis/candidate.h"

namespace muster {

void name_signal(const RuleBook& rules, LineMatch& match) {
  struct Ending {
    int signal;
    std::string_view code;
  };
  constexpr std::array<Ending, 5> kEndings = {
      Ending{SIGILL, "illegal_instruction"},
      {SIGABRT, "abort_sigabrt"},
      {SIGFPE, "fpe"},
      {SIGKILL, "sigkill_unexplained"},
      {SIGSEGV, "segfault"}};
  constexpr int kShells = 128;
  const auto told = match.captures.find("code");
  if (match.rule->code != "exit_nonzero_silent" ||
      told == match.captures.end()) {
    return;
  }
  const int64_t code = parse_integer(told->second).value_or(0);
  for (const Ending& ending : kEndings) {
    if (code != -ending.signal && code != kShells + ending.signal) continue;
    if (const Rule* rule = rules.find(ending.code)) match.rule = rule;
  }
}

}  // namespace muster
