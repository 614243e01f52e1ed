// SPDX-License-Identifier: Apache-2.0
// Remote command lines: whatever comes, the strict policy starts our agent, a
// question that changes nothing, or nothing, and no word of it means something
// to a shell.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sshd-lite/exec_policy.h"

namespace {

using Words = std::vector<std::string>;

void check(bool good) {
  if (!good) std::abort();
}

void check_agent(const Words& argv) {
  check(argv.size() >= 2);
  check(argv[1] == "agent" || argv[1] == "version" || argv[1] == "doctor");
  for (size_t i = 2; i < argv.size(); ++i) {
    check(argv[i].starts_with("--"));
    check(argv[i].find_first_of("\\'\"`$;&|<>(){}*?[]~#!% \t\r\n") ==
          std::string::npos);
  }
}

// The only line for a shell: "exit" and a number.
void check_shell(const Words& argv) {
  check(argv.size() == 3 && argv[1] == "-c" && argv[2].starts_with("exit "));
  const std::string number = argv[2].substr(5);
  check(!number.empty() && number.size() <= 3 &&
        number.find_first_not_of("0123456789") == std::string::npos);
}

void check_question(const Words& argv) {
  constexpr std::array<std::string_view, 10> kPrograms = {
      "true", "test",  "echo",  "date",   "hostname",
      "id",   "nproc", "uname", "uptime", "whoami"};
  std::string name = argv[0];
  for (const std::string_view directory : {"/usr/bin/", "/bin/"}) {
    if (name.starts_with(directory)) name = name.substr(directory.size());
  }
  check(std::find(kPrograms.begin(), kPrograms.end(), name) != kPrograms.end());
  for (const std::string& word : argv) {
    check(word.find_first_of(std::string_view("\0\n\r\t$`\\!", 8)) ==
          std::string::npos);
  }
  if (name != "date" && name != "echo" && name != "test") {
    for (size_t i = 1; i < argv.size(); ++i) {
      check(argv[i].starts_with("-") && !argv[i].starts_with("--"));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view command(reinterpret_cast<const char*>(data), size);
  const muster::ExecPolicy strict{"/opt/muster-agent", false, false};
  const auto allowed = muster::decide_exec(strict, command);
  if (!allowed) return 0;
  const Words& argv = allowed->argv;
  check(!argv.empty());
  if (argv[0] == strict.agent) {
    check_agent(argv);
  } else if (argv[0] == "/bin/sh") {
    check_shell(argv);
  } else {
    check_question(argv);
  }
  return 0;
}
