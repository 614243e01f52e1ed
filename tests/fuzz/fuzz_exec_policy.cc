// SPDX-License-Identifier: Apache-2.0
// Remote command lines: whatever comes, the strict policy starts our agent, one
// of three fixed questions or nothing, and no word of it can mean something to
// a shell.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sshd-lite/exec_policy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view command(reinterpret_cast<const char*>(data), size);
  const muster::ExecPolicy strict{"/opt/muster-agent", false};
  const auto allowed = muster::decide_exec(strict, command);
  if (!allowed) return 0;
  const auto& argv = allowed->argv;
  using Words = std::vector<std::string>;
  if (argv == Words{"true"} || argv == Words{"hostname"} ||
      argv == Words{"hostname", "-I"}) {
    return 0;
  }
  if (argv.size() < 2 || argv[0] != strict.agent) std::abort();
  if (argv[1] != "agent" && argv[1] != "version" && argv[1] != "doctor") {
    std::abort();
  }
  for (size_t i = 2; i < argv.size(); ++i) {
    if (!argv[i].starts_with("--")) std::abort();
    if (argv[i].find_first_of("\\'\"`$;&|<>(){}*?[]~#!% \t\r\n") !=
        std::string::npos) {
      std::abort();
    }
  }
  return 0;
}
