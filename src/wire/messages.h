// SPDX-License-Identifier: Apache-2.0
// The control messages between launcher and agent, as plain values with a JSON
// form. Decoders are strict about types and lenient about unknown fields, so
// that a newer peer may add some. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"
#include "job/node_facts.h"

namespace muster::wire {

struct Hello {
  int protocol_min = 0;
  int protocol_max = 0;
  std::string version;    // of the launcher's muster
  std::string launch_id;  // unique per launch; in every process' environment
  std::string job;        // same for all launches of one job (key fingerprint)
  std::string
      incarnation;     // of the launcher's container; differs after restart
  int node = 0;        // index of this worker, 1-based; 0 is the launcher
  std::string host;    // the launcher's name for this pod
  bool worker = true;  // ranks may run there: not in most launchers' pods
  int heartbeat_ms = 2000;
  int silence_ms = 12000;  // no frame for so long: the launcher is lost
  int grace_ms = 5000;     // between TERM and KILL when the launcher is lost
};

struct HelloReply {
  int protocol = 0;
  std::string version;
  std::string hostname;
  int pid = 0;
  int64_t realtime_ns = 0;  // CLOCK_REALTIME when it answered
  int meeting_port = 0;     // free for MASTER_PORT; 0: none known
};

struct Refused {
  std::string code;  // "version", "busy", "no_writable_dir"
  std::string text;
};

// Does this pod resolve `names`, and can it open a TCP connection to `targets`?
struct ProbeTarget {
  std::string host;
  int port = 0;
};
struct ProbeRequest {
  std::vector<std::string> names;
  std::vector<ProbeTarget> targets;
  int timeout_ms = 5000;
  bool listen = false;  // open a port until another is asked for, or a start
};
struct ProbeResult {
  std::string subject;  // name or host:port
  std::string outcome;  // "ok", "dns_unresolved", "refused", "timeout", …
  std::string detail;   // addresses, or the reason
};
struct ProbeReply {
  std::vector<ProbeResult> results;
  int listen_port = 0;
};

// Bytes of a stream that an agent may send before any came back as credit.
constexpr uint32_t kFirstCredit = 64 << 10;

enum class ProcessKind { kRank, kDaemon, kTool };

struct StartRequest {
  ProcessKind kind = ProcessKind::kTool;
  std::vector<std::string> argv;
  std::string program;             // its file; empty: argv[0], by PATH
  Environment env;                 // on top of the worker pod's own environment
  std::vector<std::string> unset;  // removed from the worker's own environment
  std::string cwd;
  std::string cwd_if_there;        // without cwd: taken where it can be entered
  bool stdin_open = false;         // else /dev/null
  int rank = -1;                   // kRank only
  uint32_t credit = kFirstCredit;  // for each output stream, bytes
  std::vector<int> cpus;
  // Environment that rank wrappers under a kDaemon or kTool set.
  Environment rank_env;
  // … and by local rank, if there are as many ranks as entries.
  std::vector<Environment> local_rank_env;
};

struct Started {
  int pid = 0;
};

struct StartFailed {
  Error error;
  int exit_code = 127;  // 126 or 127
};

// A rank that a foreign daemon started attached through the rank wrapper.
struct Attached {
  int rank = -1;
  int size = -1;
  int local_rank = -1;
  int local_size = -1;
  int pid = 0;
  uint32_t parent_id = 0;  // process id of the daemon it descends from
  std::string program;
  bool pmix = false;  // the daemon gave it a PMIx server
  bool pmi = false;   // … a PMI server
};

struct Exited {
  int wait_status = 0;
  int64_t user_us = 0;
  int64_t system_us = 0;
  int64_t max_rss_kib = 0;
  bool loaded_mpi = false;  // libmpi was mapped into it
  // The MPI that it had loaded, if that could not join the mpirun that started
  // it: such a rank is a world of its own.
  std::string lonely_mpi;
  bool oom_killed = false;     // killed, and the cgroup's oom_kill counter rose
  uint64_t bytes_lost = 0;     // output that was not read
  bool mpi_attached = false;   // it connected to our PMIx or PMI server
  bool mpi_finalized = false;  // … and finalized
  // It connected through PMIx, whose library counts a lost rank as arrived:
  // others may then end well, although this one did not.
  bool by_pmix = false;
  bool aborted = false;  // it called MPI_Abort; wait_status says the code
  // Time since its end: a child of its own may have held its output open.
  int64_t ended_ms_ago = 0;
  // The rank has failed, and its output is still held open. The agent reports
  // the end again, with bytes_lost, when that is over.
  bool draining = false;
};

struct SignalRequest {
  int signal = 0;
};

struct StopRequest {
  int grace_ms = 5000;
  bool now = false;  // KILL at once
  // How much later than ranks daemons and mpirun get a TERM: an mpirun that is
  // already ending its job must not be interrupted.
  int tool_delay_ms = 0;
  // Hides a rank's end from mpirun until then: it would end the others at once.
  bool ranks_first = false;
};

// The tool_delay_ms of a stop in which ranks come first: mpirun needs a moment
// to leave after them, within the grace.
constexpr int delay_behind_ranks(int grace_ms) {
  return grace_ms - std::min(1'000, grace_ms / 2);
}

struct HealthSample {
  int64_t memory_bytes = -1;  // -1: unknown
  int64_t memory_limit = -1;  // -1: unknown or unlimited
  int64_t memory_peak = -1;
  int64_t oom_kills = -1;
  int64_t shm_free = -1;
  int processes = -1;
  int64_t realtime_ns = 0;
};

struct LogLine {
  std::string level;  // "debug", "info", "warn", "error"
  std::string text;
  bool leaving = false;  // its pod got a SIGTERM, and its ranks end
  // The agent took the launcher for lost: it ends its processes by itself from
  // here on.
  bool gave_up = false;
};

struct ByeMessage {
  bool success = false;  // the job ended well; nothing follows
};

std::string to_json(const Hello&);
std::string to_json(const HelloReply&);
std::string to_json(const Refused&);
std::string to_json(const ProbeRequest&);
std::string to_json(const ProbeReply&);
std::string to_json(const StartRequest&);
std::string to_json(const Started&);
std::string to_json(const StartFailed&);
std::string to_json(const Attached&);
std::string to_json(const Exited&);
std::string to_json(const SignalRequest&);
std::string to_json(const StopRequest&);
std::string to_json(const HealthSample&);
std::string to_json(const LogLine&);
std::string to_json(const ByeMessage&);

// Error code "protocol" if `text` is not that message. Instantiated for each of
// the types above.
template <class Message>
Result<Message> from_json(std::string_view text);

}  // namespace muster::wire
