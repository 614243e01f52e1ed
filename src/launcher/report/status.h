// SPDX-License-Identifier: Apache-2.0
// The state of a running launch, for `muster status`, `ps` and `top` and for
// Prometheus: one value and its forms. The launcher keeps it in status.json of
// its run directory, where another shell in the pod reads it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/pod_counters.h"

namespace muster {

// Over the last seconds; -1: not known.
struct PodRates {
  double cpu = -1;               // CPUs in use
  double network_received = -1;  // bytes a second
  double network_sent = -1;
  double rdma_received = -1;
  double rdma_sent = -1;
};

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
  PodRates rates;
};

struct RankStatus {
  int rank = -1;
  std::string host;
  std::string state;  // starting, running, exited, not started, lost
  int pid = 0;
  std::string exit;     // "exited with code 0"; empty while it runs
  std::string doing;    // "in MPI_Finalize after KeyError: 3"; empty: not known
  bool failed = false;  // ended otherwise than well, by itself
  bool stopped = false;  // … when the job was being stopped
  // Of the rank with the processes below it; -1, or empty: not known.
  double cpu = -1;                     // CPUs in use over the last seconds
  double cpu_mean = -1;                // … over cpu_mean_ms
  int64_t cpu_mean_ms = 0;             // at most half a minute
  int64_t memory_bytes = -1;           // resident
  std::vector<std::string> gpus = {};  // those that it was given, by name
  double gpu_percent = -1;             // their mean, now
  double gpu_mean = -1;                // … over half a minute
  int64_t gpu_memory_used = -1;
  int64_t gpu_memory_total = -1;
  int64_t lines = 0;
  double lines_per_second = -1;
  std::string last_line = {};
  std::string progress = {};         // "epoch 3/10 step 700"
  std::string progress_before = {};  // … so long ago, ten seconds or more:
  int64_t progress_before_ms = 0;
  std::string loss = {};
  // Why it stands out among the ranks: "CPU 2 %, median 99 %"; mostly empty.
  std::string straggler = {};
};

// How a job has ended.
struct JobEnd {
  int exit_code = 0;
  std::string code;  // of its verdict
  std::string text;  // a sentence
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
  std::optional<JobEnd> ended = {};
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

// "GPU 0: Xid 79: the GPU has fallen off the bus (…), the last 12 s ago".
std::string xid_status(const wire::GpuXid& xid);
// A few lines: phase, since when, who is missing, ranks by state.
std::string status_text(const JobStatus& status);
// Fills `straggler` of the ranks that run and differ from the median of all in
// one fact: progress, GPU use or CPU use. None where many differ.
void mark_stragglers(JobStatus& status);

// One line per rank.
std::string ps_text(const JobStatus& status);

struct TopView {
  size_t columns = 80;
  size_t rows = 0;  // 0: as many as there are
  bool by_rank = false;
  bool color = false;
  std::string note = {};  // a line more at the end
};
// A table of pods, each with its ranks (or of ranks alone), within the size of
// `view`, and below it the failures and stragglers. Where it does not fit, pods
// stand for their ranks, except for those that failed or stand out.
std::string top_text(const JobStatus& status, const TopView& view);

// Text exposition format 0.0.4. Names: docs/metrics.md.
std::string metrics_text(const JobStatus& status);

}  // namespace muster
