// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/told_exit_code.h"

#include <csignal>

#include "base/text.h"

namespace muster {

namespace {

int told_exit_code(const Candidate& winner) {
  constexpr int kShells = 128;
  const std::string& rule = winner.rule->code;
  if (const int signal = signal_of_class(rule)) return kShells + signal;
  if (rule != "exit_nonzero_silent" && rule != "mpi_abort_by_user") return 1;
  const auto told = winner.values.find("code");
  if (told == winner.values.end()) return 1;
  const int64_t code = parse_integer(told->second).value_or(1);
  if (code < 0 && code > -kShells) return kShells - static_cast<int>(code);
  return code > 0 && code < 256 ? static_cast<int>(code) : 1;
}

}  // namespace

ExitStatus told_exit_status(const Candidate& winner) {
  if (winner.rule->code == "interrupted") {
    return {std::nullopt, 128 + SIGINT, -1};
  }
  if (const auto told = exit_class_by_name(winner.rule->exit_class)) {
    return exit_status_of(*told);
  }
  return {std::nullopt, told_exit_code(winner), winner.rank};
}

}  // namespace muster
