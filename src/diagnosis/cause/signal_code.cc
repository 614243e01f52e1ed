// SPDX-License-Identifier: Apache-2.0
// "exit code 139", "code -11", "killed by signal 11", "died with SIGSEGV": an
// end by a signal, in the forms of shells, Python and launchers, gets the
// signal's class; of "[137, 1, 139]", that of a crash before that of SIGKILL,
// by which launchers end the others. Refuses: SIGTERM and SIGINT as a code,
// with which others end a program. SIGBUS has several reasons, and stays a
// maybe. Pure.
#include <algorithm>
#include <array>
#include <csignal>

#include "base/text.h"
#include "diagnosis/cause/candidate.h"

namespace muster {

namespace {

struct Ending {
  int signal;
  std::string_view name;
  std::string_view code;
};
constexpr std::array<Ending, 7> kEndings = {
    Ending{SIGILL, "SIGILL", "illegal_instruction"},
    {SIGABRT, "SIGABRT", "abort_sigabrt"},
    {SIGBUS, "SIGBUS", "shm_full"},
    {SIGFPE, "SIGFPE", "fpe"},
    {SIGSEGV, "SIGSEGV", "segfault"},
    {SIGKILL, "SIGKILL", "sigkill_unexplained"},
    {SIGTERM, "SIGTERM", "terminated_external"}};

bool is_code_of(const Ending& ending, std::string_view told) {
  constexpr int kShells = 128;
  const int64_t code = parse_integer(trim(told)).value_or(0);
  return code == -ending.signal || code == kShells + ending.signal;
}

bool is_told(const Ending& ending, const Captures& captures) {
  const auto signal = captures.find("signal");
  if (signal != captures.end()) {
    return to_lower(signal->second) == to_lower(ending.name) ||
           parse_integer(signal->second) == ending.signal;
  }
  if (ending.signal == SIGTERM) return false;
  if (const auto all = captures.find("codes"); all != captures.end()) {
    const auto codes = split(all->second, ',');
    return std::any_of(codes.begin(), codes.end(), [&ending](auto code) {
      return is_code_of(ending, code);
    });
  }
  const auto told = captures.find("code");
  return told != captures.end() && is_code_of(ending, told->second);
}

// Null: it names no signal.
const Ending* ending_of(const LineMatch& match) {
  if (match.rule->code != "exit_nonzero_silent") return nullptr;
  const auto* const found = std::find_if(
      kEndings.begin(), kEndings.end(), [&match](const Ending& ending) {
        return is_told(ending, match.captures);
      });
  return found == kEndings.end() ? nullptr : &*found;
}

}  // namespace

int signal_of_class(std::string_view code) {
  for (const Ending& ending : kEndings) {
    if (ending.code == code && ending.signal != SIGBUS) return ending.signal;
  }
  return 0;
}

void name_signals(const RuleBook& rules, std::vector<LineMatch>& matches) {
  for (size_t i = matches.size(); i-- > 0;) {
    const Ending* const ending = ending_of(matches[i]);
    matches[i].captures.erase("signal");
    const Rule* const rule =
        ending == nullptr ? nullptr : rules.find(ending->code);
    if (rule == nullptr) continue;
    const auto own = std::find_if(
        matches.begin(), matches.end(),
        [rule](const LineMatch& match) { return match.rule == rule; });
    if (own != matches.end()) {
      // The signal's own words stand there, too.
      own->captures.merge(matches[i].captures);
      matches.erase(matches.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    matches[i].rule = rule;
    if (ending->signal == SIGBUS) matches[i].kind = PatternKind::kMaybe;
  }
}

}  // namespace muster
