// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/launch_status.h"

#include <algorithm>
#include <utility>

#include "job/exit_codes.h"
#include "launcher/model/phase_clock.h"

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
      worker.rates = pod.strain.rates();
    }
    out.push_back(std::move(worker));
  }
  return out;
}

std::vector<RankStatus> rank_status(const JobRun& run,
                                    const RankHistories& histories) {
  std::vector<RankStatus> out;
  for (const RankRecord& record : run.ranks().records()) {
    RankStatus one;
    one.rank = record.rank;
    one.host = record.host;
    one.state = to_text(record.state);
    one.pid = record.pid;
    if (record.state == RankState::kExited) {
      one.exit = describe_wait_status(record.exit.wait_status);
      one.stopped = record.exit.wait_status != 0 && record.after_stop;
      one.failed = record.exit.wait_status != 0 && !record.after_stop;
    }
    const auto history = histories.find(record.key);
    if (history != histories.end()) history->second.fill(one);
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

RankGpus rank_gpus(const Plan& plan, const JobBinding& binding) {
  RankGpus out;
  for (const PlannedRank& planned : plan.ranks) {
    const auto node = static_cast<size_t>(planned.node);
    if (node >= binding.bound.size()) continue;
    for (const size_t gpu : binding.of(planned).gpus) {
      out[planned.rank].insert(binding.nodes[node].gpus[gpu].id);
    }
  }
  return out;
}

void see_ranks(const JobRun& run, const RankOutput& output,
               const PodRecords& pods, const RankGpus& gpus,
               RankHistories& histories) {
  std::map<uint16_t, int> running;
  std::set<ProcessKey> known;
  for (const RankRecord& record : run.ranks().records()) {
    running[record.node] += record.state == RankState::kRunning;
    known.insert(record.key);
  }
  std::erase_if(histories,
                [&](const auto& one) { return !known.contains(one.first); });
  for (const RankRecord& record : run.ranks().records()) {
    if (record.state == RankState::kStarting) continue;
    RankHistory& history = histories[record.key];
    RankLook look;
    look.lines = output.lines_of(record.key);
    if (look.lines != history.lines()) {
      look.newest = output.newest_lines(record.key);
    }
    const auto pod = pods.find(record.node);
    const auto own = gpus.find(record.rank);
    if (pod != pods.end() && pod->second.counters) {
      for (const wire::GpuNow& gpu : pod->second.counters->gpu_list) {
        // All of a pod with one rank are that one's.
        if (own == gpus.end() ? running[record.node] == 1
                              : own->second.contains(gpu.id)) {
          look.gpus.push_back(gpu);
        }
      }
    }
    history.seen(steady_ms(), std::move(look));
  }
}

}  // namespace muster
