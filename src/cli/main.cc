// SPDX-License-Identifier: Apache-2.0
// muster: picks one function by the first word, or by its own name (mpirun,
// mpiexec, ssh, sshd), and returns its result. Refuses unknown words, with the
// nearest command.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/ignored_signal.h"
#include "base/inherited_state.h"
#include "base/text.h"
#include "cli/command_table.h"
#include "cli/version.h"
#include "job/last_words.h"
#include "launcher/commands/drop_in.h"
#include "launcher/options/options.h"
#include "sshd-lite/ssh_main.h"
#include "worker/pod/pod_main.h"

namespace {

int help(FILE* out) {
  std::fprintf(out, "usage: muster COMMAND [options]\n\nCommands:\n");
  for (const muster::Command& command : muster::commands()) {
    std::fprintf(out, "  %-12s %s\n", command.name.c_str(),
                 command.summary.c_str());
  }
  std::fprintf(out,
               "\nExamples:\n"
               "  muster launch -n 16 -- python train.py\n"
               "  muster launch -- mpirun -np 16 python train.py\n"
               "  muster doctor\n"
               "\nmuster COMMAND --help says more. Under the names mpirun, "
               "mpiexec, ssh and sshd it\nis the program of that name.\n");
  return out == stdout ? 0 : 2;
}

int unknown(const std::string& word) {
  std::vector<std::string> names;
  for (const muster::Command& command : muster::commands()) {
    names.push_back(command.name);
  }
  const auto near = muster::nearest(word, names);
  std::fprintf(stderr, "muster: unknown command %s.%s See muster --help.\n",
               muster::shell_quote(word).c_str(),
               near ? (" Did you mean " + *near + "?").c_str() : "");
  return 2;
}

// Runs in a signal handler.
void end_by(int signal) {
  const std::string_view sentence = signal == SIGTERM ? "muster: SIGTERM came\n"
                                    : signal == SIGINT ? "muster: SIGINT came\n"
                                    : signal == SIGHUP
                                        ? "muster: SIGHUP came\n"
                                        : "muster: SIGQUIT came\n";
  if (::getpid() == 1) {
    [[maybe_unused]] const ssize_t n =
        ::write(STDERR_FILENO, sentence.data(), sentence.size());
    ::_exit(128 + signal);
  }
  ::signal(signal, SIG_DFL);  // a child of ours
  ::raise(signal);
}

// The kernel drops signals to pid 1 that are left at their default: a command
// that waits for workers would outlive its pod's grace. Commands that handle
// signals themselves block them, and this handler never runs.
void heed_signals_as_pid_1(const std::string& command) {
  // A worker handles them in its loop, and the sandbox of its connections
  // allows no handler; `entry` may become one.
  if (::getpid() != 1 || command == "worker" || command == "sshd" ||
      command == "entry") {
    return;
  }
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    if (!muster::is_ignored(signal)) ::signal(signal, end_by);
  }
}

int run(int argc, char** argv) {
  const std::string self = argc > 0 ? argv[0] : "muster";
  const std::string name = self.substr(self.rfind('/') + 1);
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (name == "sshd") return muster::sshd_main(arguments);
  if (name == "ssh") return muster::ssh_main(arguments);
  if (muster::is_mpirun_name(name)) {
    return muster::drop_in_main(name, arguments);
  }
  if (arguments.empty()) return help(stderr);
  const std::string word = arguments[0];
  arguments.erase(arguments.begin());
  if (word == "help" && !arguments.empty()) {
    const muster::Command* command = muster::find_command(arguments[0]);
    return command != nullptr ? muster::run_command(*command, {"--help"})
                              : unknown(arguments[0]);
  }
  if (word == "--help" || word == "-h" || word == "help") return help(stdout);
  if (word == "--version") return muster::version_main({});
  if (const muster::Command* command = muster::find_command(word)) {
    heed_signals_as_pid_1(command->name);
    return muster::run_command(*command, arguments);
  }
  return unknown(word);
}

// A hostfile or a report that a full disk cut off is a failure. A reader that
// stops early (`| head`) has what it wants.
int heard(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (errno == EPIPE) return code;
  std::fprintf(stderr, "muster: error: cannot write the output: %s\n",
               errno == 0 ? "a write to stdout failed" : strerror(errno));
  return code == 0 ? 1 : code;
}

}  // namespace

int main(int argc, char** argv) {
  muster::end_in_a_sentence();
  muster::mend_inherited_state();
  return heard(run(argc, argv));
}
