// SPDX-License-Identifier: Apache-2.0
// NativeBackend: the agents start the ranks themselves, one Start frame each;
// no mpirun, no daemon of anybody's MPI.
#pragma once

#include <string>
#include <vector>

#include "launcher/backend.h"
#include "job/plan.h"
#include "launcher/fleet.h"

namespace muster {

struct NativeRank {
  int rank = 0;
  uint16_t node = 0;
  std::vector<std::string> argv;
  Environment env;                 // on top of the worker's own
  std::vector<std::string> unset;  // taken out of the worker's own
  std::vector<int> cpus;
  std::string cwd;
};

class NativeBackend : public Backend {
 public:
  NativeBackend(Fleet& fleet, std::vector<NativeRank> ranks, StdinMode stdin,
                BackendEvents events);

  void start() override;
  bool frame(uint16_t node, const wire::Frame& frame) override;
  void node_lost(uint16_t node) override;

 private:
  void one_ended();

  Fleet& fleet_;
  std::vector<NativeRank> ranks_;
  StdinMode stdin_;
  BackendEvents events_;
  std::vector<bool> ended_;  // by index in ranks_; the process id is index + 1
  size_t remaining_ = 0;
};

}  // namespace muster
