// SPDX-License-Identifier: Apache-2.0
// GPU facts that a launch need not wait for: to start NVIDIA's drivers takes up
// to a second or two. A worker has a process (`muster-agent gpu-facts`) that
// starts them when the worker starts, holds NVML open, asks all again every
// minute, and answers over a socket: what it knows, how old that is, and which
// GPUs answer at this moment with how much memory in use.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/reaper.h"
#include "base/runtime_dir.h"
#include "fabric/collect/driver_answers.h"

namespace muster {

// The path of the socket, for the worker's agents.
inline constexpr const char* kGpuFactsVariable = "MUSTER_GPU_FACTS";

// Asks the process behind `socket`. nullopt, soon: it has gone, it belongs
// to another user, it has not started the drivers yet, or a driver holds it up.
// Blocks.
std::optional<DriverAnswers> ask_gpu_facts(const std::string& socket);

// `muster-agent gpu-facts SOCKET`: serves there once it has started the
// drivers. Ends at once where no GPU answers (1), and when none does any more.
int gpu_facts_main(const std::string& socket);

// The process, from the worker's pid 1. Starts it anew, a few times, when it
// ends after it has served. Loop thread.
class GpuFactsProcess {
 public:
  GpuFactsProcess(Loop& loop, Reaper& reaper) : reaper_(reaper), again_(loop) {}
  ~GpuFactsProcess();
  GpuFactsProcess(const GpuFactsProcess&) = delete;
  GpuFactsProcess& operator=(const GpuFactsProcess&) = delete;

  // The path of the socket; empty: the pod has no NVIDIA GPU, or no room for
  // it, and agents find out by themselves, until the server is there.
  // `binary`: of muster-agent.
  std::string start(const std::string& binary);

 private:
  void run();

  Reaper& reaper_;
  std::string binary_;
  RuntimeDir directory_;
  std::string socket_;
  pid_t pid_ = 0;
  int starts_ = 0;
  Timer again_;
};

}  // namespace muster
