// SPDX-License-Identifier: Apache-2.0
#include "cli/child_init.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/forwarded_signals.h"
#include "base/loop.h"
#include "base/reaper.h"
#include "base/spawn.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

int complain(const Error& error) {
  std::fprintf(stderr, "muster entry: %s\n", error.text().c_str());
  return exit_code_for(error.code == "exe_not_found"
                           ? ExitClass::kNotFound
                           : ExitClass::kNotExecutable);
}

std::vector<int> handed_on() {
  std::vector<int> out = forwarded_signals();
  out.insert(out.end(), {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH});
  return out;
}

}  // namespace

int run_as_init(const std::vector<std::string>& argv) {
  Loop loop;
  pid_t child = 0;
  int code = exit_code_for(ExitClass::kInternal);
  SignalWatch signals(loop, handed_on(),
                      [&child](const signalfd_siginfo& info) {
                        if (info.ssi_code == SI_KERNEL || child <= 0) return;
                        ::kill(child, static_cast<int>(info.ssi_signo));
                      });
  Reaper reaper(loop);
  SpawnOptions options;
  options.argv = argv;
  options.env = current_environment();
  options.inherit_stdio = true;
  // The program keeps the terminal and the limits of a direct start.
  options.new_session = false;
  options.raise_soft_limits = false;
  loop.post([&] {
    const auto started = spawn(options);
    if (!started) {
      code = complain(started.error());
      return loop.stop();
    }
    child = *started;
    reaper.watch(child, [&](const ChildExit& exit) {
      child = 0;
      code = exit_code_for(exit.wait_status);
      loop.stop();
    });
  });
  loop.run();
  return code;
}

int become(const std::vector<std::string>& argv) {
  const char* path = std::getenv("PATH");
  const auto program = find_program(argv[0], path != nullptr ? path : "");
  if (!program) return complain(program.error());
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  ::execv(program->c_str(), words.data());
  return complain(
      fail_errno("exe_not_runnable", "cannot run " + *program).value());
}

}  // namespace muster
