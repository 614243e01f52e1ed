// SPDX-License-Identifier: Apache-2.0
// AgentPmi: the services by which natively started ranks of this pod find the
// others: a PMI-1 server and a PMIx host, offered together to every rank, and
// the link to the launcher behind both. The launcher's kJobMap creates it; jobs
// that mpirun starts have none, and do not load libpmix. Knows how far every
// rank came with MPI. Loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/spawn.h"
#include "pmi/modex_client.h"
#include "pmi/world.h"
#include "wire/messages.h"
#include "worker/base/agent_channel.h"
#include "worker/pmix/agent_pmi1.h"
#include "worker/pmix/agent_pmix_host.h"

namespace muster {

class AgentPmi {
 public:
  AgentPmi(Loop& loop, SendFrame send);
  ~AgentPmi();

  // True if the frame was one of ours. `run_dir`: for libpmix's files.
  bool frame(const wire::Frame& frame, const std::string& run_dir);
  // Adds the variables and descriptors that a rank needs. The result must live
  // until the rank was spawned. Does nothing without a map.
  UniqueFd prepare(int rank, Environment& env,
                   std::vector<std::pair<int, int>>& fds);
  // Fills in the facts of the rank's MPI.
  void ended(int rank, wire::Exited& exit);

 private:
  struct RankInfo {
    bool connected = false;
    bool finalized = false;
    bool by_pmix = false;
    bool aborted = false;
    int abort_code = 1;
  };
  // Exists once the map is known; in this order because of their dependencies.
  struct Job {
    World world;
    std::unique_ptr<AgentPmi1> pmi1;
    std::unique_ptr<AgentPmixHost> pmix;  // null: not available
  };

  void start_job(const wire::Frame& frame, const std::string& run_dir);
  void ranks_ended(const wire::Frame& frame);
  void find_arrivals(uint32_t id);
  PmiEvents events(bool pmix);
  void tell(int rank, const char* state, int code = 0,
            const std::string& message = {});
  void log(const std::string& level, const std::string& text);

  Loop& loop_;
  SendFrame send_;
  ModexClient modex_;
  std::map<int, RankInfo> ranks_;
  std::unique_ptr<Job> job_;
  Timer arrivals_told_;
};

}  // namespace muster
