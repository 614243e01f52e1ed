// SPDX-License-Identifier: Apache-2.0
// The state of a running launch, for `muster status`, `muster ps` and
// Prometheus: one value, three forms. The launcher keeps it in status.json of
// its run directory, where another shell in the pod reads it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/pod_counters.h"

namespace muster {

struct WorkerStatus {
  std::string host;
  std::string state;  // connecting, ready, lost
  std::string step;   // while connecting: resolve, tcp, ssh, agent
  std::string problem;
  int64_t memory_bytes = -1;
  int64_t memory_limit = -1;
  int64_t heartbeat_age_ms = -1;
  int attempts = 0;
  int restarts = 0;  // ready, gone, and dialled again
  wire::PodCounters used;
};

struct RankStatus {
  int rank = -1;
  std::string host;
  std::string state;  // starting, running, exited, not started, lost
  int pid = 0;
  std::string exit;   // "exited with code 0"; empty while it runs
  std::string doing;  // "in MPI_Finalize after KeyError: 3"; empty: none
};

struct JobStatus {
  std::string launch_id;
  std::string phase;
  std::string bootstrap;
  std::string command;
  // CLOCK_REALTIME, for people: setting the clock must not change an age.
  int64_t started_ns = 0;
  int64_t phase_started_ns = 0;
  int64_t written_ns = 0;
  // Of the steady clock, which all processes of a machine share.
  int64_t written_at_ms = -1;
  int64_t job_ms = 0;  // ages when it was written
  int64_t phase_ms = 0;
  uint64_t lines = 0;
  uint64_t dropped_lines = 0;
  uint64_t lost_output_bytes = 0;
  int64_t stalled_ms = 0;  // stdout has not been read for so long
  std::vector<WorkerStatus> workers;
  std::vector<RankStatus> ranks;
  int64_t forgotten_ranks = 0;  // more that ended well, of a script
};

// Time to the next write: a young launch changes quickly, and its readers must
// not see a start that is over.
int64_t status_interval_ms(int64_t job_ms);

std::string to_json(const JobStatus& status);
// Error code "protocol".
Result<JobStatus> job_status_from_json(const std::string& text);

// The same with its ages as of now; nullopt if it is not fresh: a launcher
// writes it every 2 s.
std::optional<JobStatus> aged(JobStatus status, int64_t steady_now_ms);

// A few lines: phase, since when, missing workers, ranks by state.
std::string status_text(const JobStatus& status);
// One line per rank.
std::string ps_text(const JobStatus& status);
// Text exposition format 0.0.4. Names: docs/metrics.md.
std::string metrics_text(const JobStatus& status);

}  // namespace muster
