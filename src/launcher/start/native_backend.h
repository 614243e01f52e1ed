// SPDX-License-Identifier: Apache-2.0
// NativeBackend: the agents start the ranks themselves, one Start frame each,
// without mpirun or any MPI's daemon.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "job/plan.h"
#include "launcher/connect/fleet.h"
#include "launcher/start/backend.h"
#include "launcher/start/modex_router.h"

namespace muster {

struct NativeRank {
  int rank = 0;
  uint16_t node = 0;
  std::vector<std::string> argv;
  Environment env;                 // on top of the worker's own
  std::vector<std::string> unset;  // removed from the worker's own
  std::vector<int> cpus;
  std::string cwd;
};

struct NativeJob {
  std::vector<NativeRank> ranks;
  StdinMode stdin_mode = StdinMode::kRankZero;
  wire::JobMap map;
  std::vector<uint16_t> fleet_nodes;  // for each node of the map
  Milliseconds start_deadline{0};     // 0: none
};

class NativeBackend : public Backend {
 public:
  NativeBackend(Loop& loop, Fleet& fleet, NativeJob job, BackendEvents events);

  void start() override;
  void node_lost(uint16_t node) override;

 private:
  void make_router(World world);
  void send_maps(const World& world);
  void listen();
  void rank_started(size_t index, const wire::Frame& frame);
  void rank_refused(size_t index, const wire::Frame& frame);
  void rank_exited(size_t index, const wire::Frame& frame);
  void one_ended();
  [[nodiscard]] ProcessKey key_of(size_t index) const;

  Loop& loop_;
  Fleet& fleet_;
  NativeJob job_;
  std::vector<NativeRank>& ranks_;
  std::unique_ptr<ModexRouter> router_;
  BackendEvents events_;
  std::vector<bool> ended_;  // by index in ranks_; the process id is index + 1
  size_t remaining_ = 0;
};

}  // namespace muster
