// SPDX-License-Identifier: Apache-2.0
// muster: the command table. Picks one function by the first word, or by the
// name under which it was called (mpirun, mpiexec, ssh, sshd), and returns
// what that returns. Refuses unknown words, with the nearest command.
#include <signal.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "launcher/drop_in.h"
#include "launcher/hostfile_main.h"
#include "launcher/launch.h"
#include "launcher/options.h"
#include "sshd-lite/keygen.h"
#include "worker/pod_main.h"

namespace {

using Arguments = std::vector<std::string>;

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Arguments&);
};

int version_main(const Arguments&) {
  std::printf("muster %s\n", MUSTER_VERSION);
  return 0;
}

const Command kCommands[] = {
    {"launch", "start an MPI job on the workers of this job",
     muster::launch_main},
    {"worker", "be a worker pod; worker probe ready|live asks one",
     muster::worker_main},
    {"sshd", "the same, with OpenSSH's options", muster::sshd_main},
    {"hostfile", "write the job's hostfile for any MPI",
     muster::hostfile_main},
    {"keygen", "make a job key, or a Secret with one", muster::keygen_main},
    {"version", "print the version", version_main},
};

int help(FILE* out) {
  std::fprintf(out, "usage: muster COMMAND [options]\n\nCommands:\n");
  for (const Command& command : kCommands) {
    std::fprintf(out, "  %-10s %s\n", command.name, command.summary);
  }
  std::fprintf(out,
               "\nExamples:\n"
               "  muster launch -n 16 -- python train.py\n"
               "  muster launch -- mpirun -np 16 python train.py\n"
               "  muster worker\n"
               "\nmuster COMMAND --help says more.\n");
  return out == stdout ? 0 : 2;
}

int unknown(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const auto near = muster::nearest(word, names);
  std::fprintf(stderr, "muster: unknown command %s.%s See muster --help.\n",
               muster::shell_quote(word).c_str(),
               near ? (" Did you mean " + *near + "?").c_str() : "");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string self = argc > 0 ? argv[0] : "muster";
  const std::string name = self.substr(self.rfind('/') + 1);
  Arguments arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (name == "sshd") return muster::sshd_main(arguments);
  if (muster::is_mpirun_name(name)) {
    return muster::drop_in_main(name, arguments);
  }
  if (arguments.empty()) return help(stderr);
  const std::string word = arguments[0];
  arguments.erase(arguments.begin());
  if (word == "--help" || word == "-h" || word == "help") return help(stdout);
  if (word == "--version") return version_main({});
  for (const Command& command : kCommands) {
    if (word == command.name) return command.run(arguments);
  }
  return unknown(word);
}
