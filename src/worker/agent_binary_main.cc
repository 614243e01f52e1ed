// SPDX-License-Identifier: Apache-2.0
// muster-agent: what runs in every pod for a job, and is started often: the
// agent, the wrapper around a rank that mpirun starts, the remote-shell
// stand-in for mpirun. A second executable beside `muster` because loading
// libssh would cost several times the rest of a start.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "worker/agent_main.h"
#include "worker/rank_main.h"
#include "worker/relay_main.h"

namespace {

constexpr const char* kUsage =
    "usage: muster-agent agent | rank [--] PROGRAM [ARG...] | "
    "ssh [OPTIONS] HOST COMMAND... | version\n";

// Some launchers take only a path for their remote shell, no arguments: then
// the name we are called by is the subcommand.
std::string command_in_name(const char* argv0) {
  const std::string path = argv0;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "muster-ssh") return "ssh";
  if (name == "muster-rank") return "rank";
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  std::string command = argc > 0 ? command_in_name(argv[0]) : "";
  if (command.empty() && !args.empty()) {
    command = args.front();
    args.erase(args.begin());
  }
  if (command == "rank") return muster::rank_main(args);
  if (command == "ssh") return muster::relay_main(args);
  if (command == "agent" && args.empty()) return muster::agent_main();
  if (command == "facts" && args.empty()) return muster::facts_main();
  if (command == "probe" && args.empty()) return muster::probe_main();
  if (command == "version" || command == "--version") {
    std::puts("muster-agent " MUSTER_VERSION);
    return 0;
  }
  std::fputs(kUsage, stderr);
  return 2;
}
