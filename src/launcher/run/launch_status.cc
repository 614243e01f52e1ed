// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/launch_status.h"

#include <algorithm>

#include "job/exit_codes.h"

namespace muster {

std::vector<WorkerStatus> worker_status(const Fleet& fleet,
                                        const std::vector<uint16_t>& nodes,
                                        const PodRecords& pods) {
  std::vector<WorkerStatus> out;
  for (const uint16_t node : nodes) {
    const WorkerDialer& dialer = fleet.dialer(node);
    WorkerStatus worker;
    worker.host = dialer.host();
    worker.attempts = dialer.attempts();
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
    if (const auto found = pods.find(node); found != pods.end()) {
      const PodRecord& pod = found->second;
      worker.restarts = std::max(0, pod.greetings - 1);
      if (!pod.memory.empty()) {
        worker.memory_bytes = pod.memory.back().bytes;
        worker.memory_limit = pod.memory.back().limit;
      }
      worker.used = pod.counters.value_or(wire::PodCounters{});
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
