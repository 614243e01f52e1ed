// SPDX-License-Identifier: Apache-2.0
// Phase 9: the results of a launch: at most 12 lines on stderr, the pod's
// termination message, report.json. A report that cannot be written is a
// warning, never another exit code. docs/report-schema.md has the schema of the
// last.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/evidence.h"
#include "diagnosis/verdict.h"
#include "launcher/model/phase_clock.h"
#include "launcher/options/options.h"

namespace muster {

struct WorkerReport {
  std::string name;
  std::string state;   // ready, not_ready, lost
  std::string reason;  // empty while ready
  std::string step;    // the last step of the connection
  int64_t connect_ms = -1;
  std::string version;
  std::string ranks;    // "0-7"
  std::string machine;  // "8 GPUs, 64 CPUs, 512 GiB, openmpi 4.1.4, eth0"
  int64_t drivers_age_ms = -1;  // of its GPU drivers' answers; -1: new
};

struct LaunchReport {
  std::string launch_id;
  std::string bootstrap;
  int64_t started_ns = 0;
  int64_t ended_ns = 0;
  Milliseconds took{0};  // by a steady clock
  std::vector<PhaseTime> phases;
  std::vector<WorkerReport> workers;
  // From the last worker being ready to the first rank running; -1: not known.
  int64_t first_rank_ms = -1;
  int64_t all_ranks_ms = -1;
  uint64_t forgotten_ranks = 0;  // that ended well, of a script
  uint64_t lines = 0;
  uint64_t lost_output_bytes = 0;
  uint64_t dropped_lines = 0;  // by --log-overflow drop
  int cut_outputs = 0;  // processes whose worker was lost before their output
  std::string fabric;   // one line; empty: no decision
  std::vector<std::string> settings;  // "NCCL_NET=Socket: why"
  std::string plan;                   // plan_json(); for --bundle only
  std::string facts;                  // of all pods, JSON; for --bundle only
  Evidence evidence;
  Verdict verdict;
};

// With the user's own rules, if they can (still) be read.
Verdict judge(const Evidence& evidence, const LaunchOptions& options);
// The error that ended a launch before any rank was started.
Finding finding_of(const Error& error);

std::string to_json(const LaunchReport& report);
// One line for people: "16 ranks on 4 workers ended well after 12.3 s (…)".
std::string summary_line(const LaunchReport& report);

// Before the job: warns of reports that cannot be written after it.
void check_report_places(const LaunchOptions& options);

// Summary and verdict to stderr and to the termination message, if a kubelet
// made its file.
void announce(const LaunchReport& report, const LaunchOptions& options);

struct StoredReports {
  std::vector<std::string> warnings;  // a sentence on a failed write
  std::string bundle;                 // its folder; empty: none
};
// Writes all other files. Any thread; may take long, or for ever, on a remote
// file system.
StoredReports store_reports(const LaunchReport& report,
                            const LaunchOptions& options);

}  // namespace muster
