// SPDX-License-Identifier: Apache-2.0
// muster-agent: what runs in every pod for a job, and is started often: the
// agent, the wrapper around a rank that mpirun starts, the remote-shell
// stand-in for mpirun, the sender of a progress. A second executable beside
// `muster` because loading libssh would cost several times the rest of a start.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/inherited_state.h"
#include "base/self_path.h"
#include "job/last_words.h"
#include "job/launcher_socket.h"
#include "worker/facts/gpu_facts.h"
#include "worker/facts/gpu_watch.h"
#include "worker/hang/agent_flight.h"
#include "worker/hang/agent_ras.h"
#include "worker/hang/agent_stacks.h"
#include "worker/post/post_status.h"
#include "worker/rank/rank_main.h"
#include "worker/rank/relay_main.h"
#include "worker/session/agent_main.h"

namespace {

constexpr const char* kUsage =
    "usage: muster-agent agent | rank [--] PROGRAM [ARG...] | "
    "ssh [OPTIONS] HOST COMMAND... | doctor [OPTIONS] | version\n";

// Some launchers take only a path for their remote shell, no arguments: then
// the name we are called by is the subcommand. As `ssh` it stands on PATH.
std::string command_in_name(const char* argv0) {
  const std::string path = argv0;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "muster-ssh") return "ssh";
  if (name == "muster-rank") return "rank";
  if (name == "ssh") return "ssh-by-name";
  return "";
}

// Commands of `muster`: the doctor of this pod, for one in the launcher, and an
// ssh that connects by itself.
int become_muster(std::vector<std::string> words,
                  const std::vector<std::string>& args) {
  const std::string muster = muster::muster_path();
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(muster.c_str(), argv.data());
  std::fprintf(stderr, "muster-agent: cannot run %s: %s\n", muster.c_str(),
               std::strerror(errno));
  return 126;
}

}  // namespace

int main(int argc, char** argv) {
  muster::end_in_a_sentence();
  muster::mend_inherited_state();
  std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  std::string command = argc > 0 ? command_in_name(argv[0]) : "";
  if (command.empty() && !args.empty()) {
    command = args.front();
    args.erase(args.begin());
  }
  if (command == "rank") return muster::rank_main(args);
  if (command == "ssh") return muster::relay_main(args);
  if (command == "ssh-by-name") {
    return muster::has_launcher_socket() ? muster::relay_main(args)
                                         : become_muster({"ssh"}, args);
  }
  if (command == "agent" && args.empty()) return muster::agent_main();
  if (command == "post-status") return muster::post_status_main();
  if (command == "doctor") return become_muster({"muster", "doctor"}, args);
  if (command == "stacks" && args.empty()) return muster::stacks_main();
  if (command == "gpu-watch" && args.size() < 2) {
    return muster::gpu_watch_main(args.empty() ? "" : args[0]);
  }
  if (command == "gpu-facts" && args.size() == 1) {
    return muster::gpu_facts_main(args[0]);
  }
  if (command == "nccl-ras" && args.empty()) return muster::ras_main();
  if (command == "flight-records" && args.empty()) return muster::flight_main();
  if (command == "version" || command == "--version") {
    std::puts("muster-agent " MUSTER_VERSION);
    return 0;
  }
  std::fputs(kUsage, stderr);
  return 2;
}
