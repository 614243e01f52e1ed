// SPDX-License-Identifier: Apache-2.0
// AgentPmixHost in a build without PMIx (meson option `pmix`).
#include "worker/pmix/agent_pmix_host.h"

namespace muster {

struct AgentPmixHost::Impl {};

AgentPmixHost::AgentPmixHost(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
AgentPmixHost::~AgentPmixHost() = default;

Result<std::unique_ptr<AgentPmixHost>> AgentPmixHost::open(
    Loop&, const World&, ModexClient&, PmiEvents, const std::string&,
    std::function<void(const Error&)>) {
  return fail(Error{"no_pmix",
                    "no PMIx server for the ranks of this pod",
                    "this muster was built without PMIx",
                    {},
                    "Open MPI needs it: use --bootstrap mpirun."});
}

void AgentPmixHost::prepare(int, Environment&) {}
void AgentPmixHost::rank_ended(int) {}
void AgentPmixHost::serve_get(int, ModexClient::Data) {}
bool AgentPmixHost::running() const { return false; }
void AgentPmixHost::deliver(std::string_view) {}
void AgentPmixHost::ranks_ended(const wire::RanksEnded&) {}

}  // namespace muster
