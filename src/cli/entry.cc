// SPDX-License-Identifier: Apache-2.0
#include "cli/entry.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/spawn.h"
#include "cli/child_init.h"
#include "cli/command_table.h"
#include "job/exit_codes.h"
#include "job/pod_view.h"

namespace muster {

namespace {

// An arbitrary user id has no passwd entry, and getpass.getuser() and the like
// then fail far from the cause; they ask these variables first.
void name_the_user() {
  if (::getpwuid(::geteuid()) != nullptr) return;
  const std::string name = "uid" + std::to_string(::geteuid());
  ::setenv("USER", name.c_str(), 0);
  ::setenv("LOGNAME", name.c_str(), 0);
}

bool on_path(const std::string& word) {
  const char* path = std::getenv("PATH");
  return find_program(word, path != nullptr ? path : "").has_value();
}

}  // namespace

Result<EntryPlan> plan_entry(
    std::vector<std::string> words, const Contract& contract,
    const std::function<bool(const std::string&)>& is_command,
    const std::function<bool(const std::string&)>& is_program) {
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  const bool bare = words.empty() || words[0].starts_with('-');
  if (!bare) {
    if (!is_command(words[0]) || is_program(words[0])) {
      return EntryPlan{"", std::move(words)};
    }
    const std::string command = words[0];
    words.erase(words.begin());
    return EntryPlan{command, std::move(words)};
  }
  if (contract.role == Role::kWorker) return EntryPlan{"worker", words};
  if (contract.role == Role::kLauncher && !words.empty()) {
    return EntryPlan{"launch", std::move(words)};
  }
  if (contract.role == Role::kLauncher) {
    return fail(Error{"no_program",
                      "this pod is a launcher without a program",
                      contract.role_reason,
                      {},
                      "Give the container args, as in args: [mpirun, -n, "
                      "\"4\", python, train.py]."});
  }
  return fail(Error{"no_role",
                    "there is nothing to run",
                    contract.role_reason,
                    {},
                    "Give the container args, or set MUSTER_ROLE=worker for "
                    "a worker pod without an operator."});
}

int entry_main(const std::vector<std::string>& args) {
  name_the_user();
  const Contract contract = decide_contract(read_pod_view(own_pod_options()));
  const auto plan = plan_entry(
      args, contract,
      [](const std::string& word) { return find_command(word) != nullptr; },
      on_path);
  if (!plan) {
    std::fprintf(stderr, "muster entry: %s\n", plan.error().text().c_str());
    return exit_code_for(plan.error().code == "no_role"
                             ? ExitClass::kUsage
                             : ExitClass::kConfiguration);
  }
  if (!plan->command.empty()) {
    return run_command(*find_command(plan->command), plan->words);
  }
  return ::getpid() == 1 ? run_as_init(plan->words) : become(plan->words);
}

}  // namespace muster
