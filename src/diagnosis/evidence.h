// SPDX-License-Identifier: Apache-2.0
// Evidence: everything known about one run when it is judged, as plain values
// with a versioned JSON form, so that any real failure can be kept as a test.
// Every field may be missing; -1, 0 or empty then means "unknown". All times
// are nanoseconds of one clock (the launcher's); only their order and distance
// matter. For a bare text log they are line numbers. Owns nothing. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/finding.h"

namespace muster {

// Lines of a bare log have no times: each counts as so much later.
inline constexpr int64_t kLogLineNs = 10'000'000;

struct LineEvidence {
  int64_t time_ns = 0;
  bool stderr_stream = false;
  std::string text;       // without its newline
  std::string host = {};  // of a bare log, where the line itself tells it
};

enum class RankOutcome {
  kUnknown,
  kNeverStarted,  // not reached before the job ended
  kRefused,       // could not be started: see refusal
  kRunning,       // still ran, or hung, when the job was judged
  kExited,        // wait_status counts
  kLost,          // its worker was lost
};

struct RankEvidence {
  int rank = -1;
  int node = -1;  // index into Evidence::nodes is by NodeEvidence::node
  std::string host;
  int pid = 0;
  RankOutcome outcome = RankOutcome::kUnknown;
  int wait_status = 0;  // as waitpid gives it; kExited only
  int64_t exit_ns = 0;
  // Ended on the launcher's own order (drain, time limit): has no cause to
  // find.
  bool stopped_by_us = false;
  bool oom_killed = false;    // killed, and the cgroup's oom_kill counter rose
  bool loaded_mpi = false;    // libmpi was mapped into it
  std::string lonely_mpi;     // loaded, of another kind than its mpirun
  bool mpi_attached = false;  // it reached MPI_Init (PMIx/PMI connected)
  bool mpi_finalized = false;
  int64_t max_rss_kib = 0;  // 0: unknown
  int world_size = -1;      // the world the rank itself saw
  Error refusal;  // kRefused: code exe_not_found, exe_not_runnable …
  int refusal_exit_code = 127;
  // UUIDs or indices of those that the launcher gave it; empty: it may use all
  // of its pod.
  std::vector<std::string> gpus;
  std::vector<LineEvidence> lines;  // last ones of both streams, oldest first
};

enum class NodeOutcome {
  kUnknown,
  kConnected,   // until the end
  kNeverReady,  // see step and error
  kLost,        // was ready, then lost: see error
};

struct MemorySample {
  int64_t time_ns = 0;
  int64_t bytes = -1;
  int64_t limit = -1;  // -1: unknown or unlimited
  int64_t peak = -1;
  int64_t oom_kills = -1;  // the counter's value, not a difference
};

// A node's stalls and traffic, from its counters: over the whole job and in the
// seconds before its last heartbeat. Shares of that time, 0 to 1.
struct StrainShares {
  double throttled = -1;     // periods in which the CPU limit held it back
  double cpu_stall = -1;     // all tasks waited (PSI, full): for a CPU,
  double memory_stall = -1;  // for memory,
  double io_stall = -1;      // for storage
};

struct NodeStrain {
  StrainShares job;
  StrainShares recent;
  int64_t recent_ms = -1;  // how long "recent" is
  // The busiest stretch between two heartbeats, in the busier direction.
  double rdma_gbps = -1;
  double rdma_port_gbps = -1;  // what its active ports could
  double network_gbps = -1;    // over the interfaces, TCP
  // Counters of loss that grew: "mlx5_0/1 packet_seq_err +12".
  std::vector<std::string> grown;
  // For all its GPUs, since its ranks run, 0 to 1: their load, and the time in
  // which heat or power held their clocks down.
  int64_t gpus = -1;
  std::vector<std::string> gpu_ids;  // their names; empty: unknown
  double gpu_use = -1;
  double gpu_slowed = -1;
};

struct DiskEvidence {
  std::string path;  // /dev/shm, /tmp, …
  int64_t size = -1;
  int64_t free = -1;
};

// An error that NVIDIA's driver reported for one GPU while the job ran. The
// driver does not say whose work it was.
struct XidEvidence {
  int xid = 0;
  int gpu = -1;      // its index in the pod
  std::string pci;   // "0000:1a:00.0"
  std::string uuid;  // of the GPU or, if mig, of its instance; may be empty
  bool mig = false;  // it concerns one MIG instance alone
  int64_t count = 1;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
};

struct NodeEvidence {
  int node = -1;  // 0: the launcher's pod; 1..N: workers in hostfile order
  std::string host;
  NodeOutcome outcome = NodeOutcome::kUnknown;
  std::string step;  // kNeverReady: resolve, tcp, ssh, agent, hello
  Error error;       // code of the dialer, link or channel and its reason
  int64_t lost_ns = 0;
  bool told_to_leave = false;        // SIGTERM from outside the container
  int64_t oom_kills_at_start = -1;   // baseline of the counter
  std::vector<MemorySample> memory;  // oldest first; a handful is enough
  NodeStrain strain;
  std::vector<DiskEvidence> disks;
  std::vector<XidEvidence> xids;  // the first of each kind first
  int gpus = -1;                  // device files in the pod
  std::string gpu_driver;         // its version; empty: unknown
  // The variable that hides all of them from its ranks, as set:
  // "CUDA_VISIBLE_DEVICES=".
  std::string gpus_hidden_by;
};

struct JobEvidence {
  std::string backend;  // "pmix", "mpirun", "once"; of a log: its writer
  // connect, inspect, agree, prove, spawn, run, drain: the phase in which the
  // job ended or failed.
  std::string phase;
  std::vector<std::string> argv;  // the user's program
  // The program is in the launcher's pod and cannot be executed there; mpirun
  // does not distinguish that from a missing one.
  bool not_executable = false;
  int world_size = -1;
  int workers = -1;
  std::string name_space;  // of the job's pods; empty: no Kubernetes known
  bool bare_log = false;   // there is only text: no wait statuses
  std::string no_log;      // if the text is not a log: "source code"
  int lone_worlds = 0;     // processes of it that said "rank 0 of 1"
  int local_failure = -1;  // of a log of one node: the rank that failed first
  std::vector<std::string> rank_hosts;  // as a log lists them; empty: unknown
  int stop_signal = 0;     // that the launcher got; SIGPIPE: its reader left
  bool preempted = false;  // the launcher's pod got a SIGTERM
  int64_t preempted_ns = 0;
  bool time_limit_hit = false;
  int64_t time_limit_ms = -1;
  bool start_deadline_hit = false;
  int64_t start_deadline_ms = -1;
  int64_t connect_deadline_ms = -1;
  int64_t stop_ns = 0;   // when the launcher began to stop the ranks; 0: never
  std::string progress;  // the last one seen: "epoch 45/100"
  bool mpi_abort = false;  // some rank called MPI_Abort …
  int mpi_abort_code = 0;
  int mpi_abort_rank = -1;
  // mpirun or the script, if there was one.
  bool tool_ended = false;
  int tool_status = 0;       // wait status
  bool tool_killed = false;  // by SIGKILL, not from the launcher
  // The launcher had begun to stop the job: it caused tool_status.
  bool tool_stopped_by_us = false;
  std::vector<LineEvidence> tool_lines;
};

// The recorders' joint finding on one collective operation.
struct CollectiveEvidence {
  std::string text;        // one sentence
  std::vector<int> ranks;  // the odd ones; empty: none is
  bool waits = false;      // the rest waited for them
  bool differs = false;    // ranks called something else, odd or not
};

struct Evidence {
  JobEvidence job;
  std::vector<RankEvidence> ranks;
  std::vector<NodeEvidence> nodes;
  std::vector<Finding> findings;  // of planning; kError ones stopped the launch
  std::vector<CollectiveEvidence> collectives;  // strongest first
};

constexpr int kEvidenceVersion = 1;

// One line of JSON with "evidence": 1. Bytes that are not UTF-8 survive.
std::string to_json(const Evidence& evidence);
// Error code "evidence": wrong types or a newer major version, in a sentence.
Result<Evidence> evidence_from_json(std::string_view text);

}  // namespace muster
