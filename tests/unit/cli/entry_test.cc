// SPDX-License-Identifier: Apache-2.0
#include "cli/entry.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/temporary_directory.h"
#include "catch.h"
#include "cli/child_init.h"

using namespace muster;

namespace {

using Words = std::vector<std::string>;

Result<EntryPlan> plan(Words words, Role role) {
  Contract contract;
  contract.role = role;
  return plan_entry(
      std::move(words), contract,
      [](const std::string& word) { return word == "launch" || word == "ssh"; },
      [](const std::string& word) {
        return word == "ssh" || word == "python";
      });
}

}  // namespace

TEST_CASE("without words the role decides") {
  const auto worker = plan({}, Role::kWorker);
  REQUIRE(worker);
  CHECK(worker->command == "worker");
  CHECK(plan({}, Role::kLauncher).error().code == "no_program");
  CHECK(plan({}, Role::kManual).error().code == "no_role");
}

TEST_CASE("options alone go to the role's command") {
  const auto launch = plan({"-n", "4", "--", "./app"}, Role::kLauncher);
  REQUIRE(launch);
  CHECK(launch->command == "launch");
  CHECK(launch->words == Words{"-n", "4", "--", "./app"});
  const auto worker = plan({"--port", "33"}, Role::kWorker);
  REQUIRE(worker);
  CHECK(worker->command == "worker");
  CHECK(worker->words == Words{"--port", "33"});
  CHECK_FALSE(plan({"-n", "4"}, Role::kManual));
}

TEST_CASE("any other words are a program, in every role") {
  for (const Role role : {Role::kLauncher, Role::kWorker, Role::kManual}) {
    const auto program = plan({"--", "python", "-c", "1"}, role);
    REQUIRE(program);
    CHECK(program->command.empty());
    CHECK(program->words == Words{"python", "-c", "1"});
  }
}

TEST_CASE("muster's own commands, unless a program has that name") {
  const auto launch = plan({"launch", "-n", "2"}, Role::kManual);
  REQUIRE(launch);
  CHECK(launch->command == "launch");
  CHECK(launch->words == Words{"-n", "2"});
  const auto ssh = plan({"ssh", "host"}, Role::kManual);
  REQUIRE(ssh);
  CHECK(ssh->command.empty());
}

TEST_CASE("pid 1's duties: the program's own status, and reaping") {
  CHECK(run_as_init({"sh", "-c", "exit 7"}) == 7);
  CHECK(run_as_init({"sh", "-c", "kill -9 $$"}) == 137);
  CHECK(run_as_init({"no-such-program-here"}) == 127);
  CHECK(run_as_init({"/etc/passwd"}) == 126);
}

TEST_CASE("pid 1's duties: signals are handed on") {
  const TemporaryDirectory place;
  const std::string up = place.path() + "/up";
  const pid_t init = ::fork();
  REQUIRE(init >= 0);
  if (init == 0) {
    ::alarm(120);
    ::_exit(run_as_init(
        {"sh", "-c",
         "trap 'exit 5' TERM; : > " + up + "; while :; do sleep 0.05; done"}));
  }
  for (int i = 0; i < 6000 && ::access(up.c_str(), F_OK) != 0; ++i) {
    ::usleep(10'000);
  }
  ::kill(init, SIGTERM);
  int status = 0;
  REQUIRE(::waitpid(init, &status, 0) == init);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);
}
