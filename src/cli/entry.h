// SPDX-License-Identifier: Apache-2.0
// `muster entry`: an image's ENTRYPOINT. Without words it takes the pod's role
// for its operator; with words it runs them, doing pid 1's duties if it is pid
// 1. An operator's `command` replaces an ENTRYPOINT, its `args` do not.
// Refuses: a launcher pod without a program to launch; guessing a role.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "job/operator_contract.h"

namespace muster {

struct EntryPlan {
  // A command of muster, to be run in this process; "": run `words` instead.
  std::string command;
  std::vector<std::string> words;
};

// `words` are the container's arguments, with or without a leading "--".
// `is_command` knows muster's own commands, `is_program` what PATH has: a
// program wins over a command of the same name. Words that begin with '-' are
// options of the role's command. Error codes "no_role", "no_program". Pure.
Result<EntryPlan> plan_entry(
    std::vector<std::string> words, const Contract& contract,
    const std::function<bool(const std::string&)>& is_command,
    const std::function<bool(const std::string&)>& is_program);

// `args` without "entry". Returns the exit code of the command; 100 in a
// launcher without a program, 2 if the role is unknown.
int entry_main(const std::vector<std::string>& args);

}  // namespace muster
