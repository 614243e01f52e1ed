// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_main.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

#include "base/fd.h"
#include "base/loop.h"
#include "wire/messages.h"
#include "worker/agent_session.h"
#include "worker/facts_collect.h"
#include "worker/facts_probe.h"

namespace muster {

namespace {

// The name by which we can be started again, whatever argv[0] says.
std::string own_binary() {
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "muster-agent";
}

}  // namespace

int agent_main() {
  // The launcher decides what an interrupt means; a lost reader is an EPIPE.
  for (const int ignored : {SIGPIPE, SIGINT, SIGHUP}) {
    ::signal(ignored, SIG_IGN);
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Loop loop;
  AgentOptions options;
  options.binary = own_binary();
  AgentSession session(loop, std::move(options));
  loop.run();
  return session.exit_code();
}

int facts_main() {
  // The launcher may name the mpirun that it is going to use.
  const auto mpirun = read_file("/dev/stdin", 4096);
  const std::string facts =
      to_json(collect_all_facts("", mpirun ? *mpirun : ""));
  return write_all(1, facts) ? 0 : 1;
}

int probe_main() {
  const auto input = read_file("/dev/stdin");
  const auto request =
      input ? wire::from_json<wire::ProbeRequest>(*input)
            : Result<wire::ProbeRequest>(tl::unexpected(input.error()));
  if (!request) {
    std::fprintf(stderr, "muster-agent: %s\n", request.error().text().c_str());
    return 2;
  }
  const bool written = write_all(1, to_json(run_probe(*request))).has_value();
  // Threads may still sit in the resolver; nothing of theirs is worth waiting.
  ::_exit(written ? 0 : 1);
}

}  // namespace muster
