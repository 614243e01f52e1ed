// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/launch_status.h"

#include <algorithm>

#include "job/exit_codes.h"

namespace muster {

std::vector<WorkerStatus> worker_status(
    const Fleet& fleet, const std::vector<uint16_t>& nodes,
    const std::map<uint16_t, std::vector<MemorySample>>& memory,
    const std::map<uint16_t, wire::PodCounters>& counters,
    const std::map<uint16_t, int>& greeted) {
  std::vector<WorkerStatus> out;
  for (const uint16_t node : nodes) {
    const WorkerDialer& dialer = fleet.dialer(node);
    WorkerStatus worker;
    worker.host = dialer.host();
    worker.attempts = dialer.attempts();
    if (const auto times = greeted.find(node); times != greeted.end()) {
      worker.restarts = times->second - 1;
    }
    if (const AgentLink* link = dialer.link()) {
      worker.state = "ready";
      worker.heartbeat_age_ms = std::chrono::duration_cast<Milliseconds>(
                                    Clock::now() - link->last_heard())
                                    .count();
    } else {
      worker.state = dialer.committed() ? "lost" : "connecting";
      worker.step = dialer.step();
      worker.problem = dialer.last_error().what;
    }
    if (const auto samples = memory.find(node); samples != memory.end()) {
      worker.memory_bytes = samples->second.back().bytes;
      worker.memory_limit = samples->second.back().limit;
    }
    if (const auto used = counters.find(node); used != counters.end()) {
      worker.used = used->second;
    }
    out.push_back(std::move(worker));
  }
  return out;
}

std::vector<RankStatus> rank_status(const JobRun& run) {
  std::vector<RankStatus> out;
  for (const RankRecord& record : run.ranks().records()) {
    RankStatus one{record.rank, record.host, to_text(record.state),
                   record.pid,  "",          ""};
    if (record.state == RankState::kExited) {
      one.exit = describe_wait_status(record.exit.wait_status);
    }
    const auto stuck = run.stuck().find(record.key);
    if (record.state == RankState::kRunning && stuck != run.stuck().end()) {
      one.doing = state_text(stuck->second);
    }
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return out;
}

}  // namespace muster
