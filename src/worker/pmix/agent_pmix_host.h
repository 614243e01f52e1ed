// SPDX-License-Identifier: Apache-2.0
// AgentPmixHost: the PMIx server of this pod, for Open MPI, OpenSHMEM and every
// other PMIx client. libpmix talks to the ranks, on a thread of its own; we
// answer its requests, on the loop. It is loaded when the first rank connects,
// or another node asks for a rank's data: programs without PMIx cost nothing.
// Refuses: to start if no libpmix can be loaded, or one of another major
// version than we were built with. One at a time in a process. Only
// agent_pmix_*.cc see PMIx' headers. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/spawn.h"
#include "pmi/modex_client.h"
#include "pmi/world.h"
#include "worker/pmix/agent_pmi1.h"

namespace muster {

class AgentPmixHost {
 public:
  // Listens for ranks. `run_dir`: private directory of this launch. `failed`:
  // called with the reason if libpmix cannot start. All references outlive the
  // host.
  static Result<std::unique_ptr<AgentPmixHost>> open(
      Loop& loop, const World& world, ModexClient& modex, PmiEvents events,
      const std::string& run_dir, std::function<void(const Error&)> failed);
  ~AgentPmixHost();
  AgentPmixHost(const AgentPmixHost&) = delete;
  AgentPmixHost& operator=(const AgentPmixHost&) = delete;

  // Adds a rank's variables to its environment.
  void prepare(int rank, Environment& env);
  // Passes on everything that the rank sent to libpmix.
  void rank_ended(int rank);
  // The data of `rank`, one of ours; answers once it has committed.
  void serve_get(int rank, ModexClient::Data answer);
  // Whether libpmix runs. If not, none of our ranks has ever connected.
  [[nodiscard]] bool running() const;
  // A rank of another node has an event for ours.
  void deliver(std::string_view event);
  // Ranks, here or elsewhere, have ended while some of ours run.
  void ranks_ended(const wire::RanksEnded& ended);

 private:
  struct Impl;
  explicit AgentPmixHost(std::unique_ptr<Impl> impl);
  Status start();  // blocks for as long as libpmix needs (5 to 20 ms)
  bool ensure_started();
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
