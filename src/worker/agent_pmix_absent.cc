// SPDX-License-Identifier: Apache-2.0
// AgentPmixHost in a build without PMIx (meson option `pmix`).
#include "worker/agent_pmix_host.h"

namespace muster {

struct AgentPmixHost::Impl {};

AgentPmixHost::AgentPmixHost(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
AgentPmixHost::~AgentPmixHost() = default;

bool AgentPmixHost::is_built_in() { return false; }

Result<std::unique_ptr<AgentPmixHost>> AgentPmixHost::start(
    Loop&, const World&, ModexClient&, PmiEvents, const std::string&) {
  return fail(Error{"no_pmix",
                    "no PMIx server for the ranks of this pod",
                    "this muster was built without PMIx",
                    {},
                    "Open MPI needs it: use --bootstrap mpirun."});
}

Status AgentPmixHost::prepare(int, Environment&) { return {}; }
void AgentPmixHost::rank_ended(int) {}
void AgentPmixHost::serve_get(int, ModexClient::Data) {}

}  // namespace muster
