// SPDX-License-Identifier: Apache-2.0
#include "worker/session/agent_main.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/known_files.h"
#include "base/loop.h"
#include "worker/facts/gpu_facts.h"
#include "worker/session/agent_session.h"
#include "worker/session/exit_deadline.h"

namespace muster {

namespace {

// The session's end joins the thread of libpmix.
constexpr Milliseconds kEndLimit{3000};

// The name that starts us again, whatever argv[0] says.
std::string own_binary() {
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "muster-agent";
}

}  // namespace

int agent_main() {
  // The launcher handles an interrupt; a lost reader is an EPIPE.
  for (const int ignored : {SIGPIPE, SIGINT, SIGHUP, SIGQUIT}) {
    ::signal(ignored, SIG_IGN);
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Loop loop;
  AgentOptions options;
  options.binary = own_binary();
  // For us, not for ranks.
  if (const char* known = ::getenv(kKnownFilesVariable)) {
    options.known_files = KnownFiles::parse(known);
    ::unsetenv(kKnownFilesVariable);
  }
  if (const char* socket = ::getenv(kGpuFactsVariable)) {
    options.gpu_facts = socket;
    ::unsetenv(kGpuFactsVariable);
  }
  AgentSession session(loop, std::move(options));
  loop.run();
  exit_at_latest(kEndLimit, session.exit_code());
  return session.exit_code();
}

}  // namespace muster
