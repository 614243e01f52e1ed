// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/agent_stacks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/fd.h"
#include "base/json_text.h"
#include "base/read_to_end.h"
#include "base/text.h"
#include "job/pod_view.h"
#include "stacks/thread_freeze.h"
#include "worker/hang/agent_flight.h"
#include "worker/hang/agent_ras.h"
#include "worker/hang/stack_text.h"

namespace muster {

namespace {

constexpr Milliseconds kStopDeadline{1'000};
constexpr Milliseconds kHelperDeadline{8'000};
constexpr size_t kMaxInput = 256 << 20;

// "123 (a name) S 1 …" of /proc/PID/stat.
struct Stat {
  std::string name;
  std::string state;
  int threads = 0;
};

Stat stat_of(pid_t pid) {
  Stat out;
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!text) return out;
  const size_t open = text->find('(');
  const size_t close = text->rfind(')');
  if (open == std::string::npos || close == std::string::npos) return out;
  out.name = text->substr(open + 1, close - open - 1);
  const auto rest = split_words(std::string_view(*text).substr(close + 1));
  if (!rest.empty()) out.state = rest[0];
  if (rest.size() > 17) {
    out.threads = static_cast<int>(parse_integer(rest[17]).value_or(0));
  }
  return out;
}

std::vector<pid_t> children_of(pid_t pid) {
  const std::string id = std::to_string(pid);
  const auto text =
      read_file("/proc/" + id + "/task/" + id + "/children", 64 << 10);
  std::vector<pid_t> out;
  if (!text) return out;
  for (const std::string_view word : split_words(*text)) {
    if (const auto child = parse_integer(word)) {
      out.push_back(static_cast<pid_t>(*child));
    }
  }
  return out;
}

bool is_shell(const std::string& name) {
  static const std::vector<std::string> kNames = {
      "sh",      "bash",    "dash", "zsh",  "ksh",  "busybox",  "env",
      "numactl", "timeout", "nice", "time", "tini", "dumb-init"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// `sh -c "python …"`: the interesting process is the shell's only child.
pid_t interesting(pid_t pid) {
  for (int depth = 0; depth < 4 && is_shell(stat_of(pid).name); ++depth) {
    const auto children = children_of(pid);
    if (children.size() != 1) break;
    pid = children[0];
  }
  return pid;
}

std::string environ_text(pid_t pid) {
  const auto text = read_file(
      "/proc/" + std::to_string(interesting(pid)) + "/environ", 1 << 20);
  return text ? *text : "";
}

}  // namespace

AgentStacks::AgentStacks(Loop& loop, Reaper& reaper, AgentProcesses& processes,
                         SendFrame send)
    : loop_(loop),
      reaper_(reaper),
      processes_(processes),
      send_(std::move(send)),
      deadline_(loop),
      since_ns_(realtime_ns()) {}

bool AgentStacks::frame(const wire::Frame& frame, const std::string& binary) {
  if (frame.type != wire::kStackRequest) return false;
  const auto request = wire::stack_request_from_json(frame.payload);
  if (!request || busy_) {
    send_(wire::kStackReply, 0, frame.id, wire::to_json(wire::StackReply{}));
    return true;
  }
  busy_ = true;
  id_ = frame.id;
  binary_ = binary;
  begin(*request);
  return true;
}

void AgentStacks::begin(const wire::StackRequest& request) {
  ranks_.clear();
  waiting_ = 0;
  signal_ = request.signal;
  stacks_wait_ = true;
  nccl_.clear();
  flight_.clear();
  notice_ranks();
  for (const AgentProcess* process : processes_.running_ranks()) {
    const int rank = process->info().rank;
    if (!request.ranks.empty() &&
        std::find(request.ranks.begin(), request.ranks.end(), rank) ==
            request.ranks.end()) {
      continue;
    }
    const pid_t pid = interesting(process->info().pid);
    const Stat stat = stat_of(pid);
    Looked& looked = ranks_[pid];
    looked.rank = {rank, pid, stat.name, stat.state, stat.threads, {}, {}};
    if (auto frozen = freeze(pid); !frozen) {
      looked.rank.problem = frozen.error().text();
      continue;
    }
    ++waiting_;
    reaper_.watch_stop(pid, [this, pid](int status) { stopped(pid, status); });
  }
  if (request.nccl == 1) ask_nccl();
  if (request.flight > 0) read_flight(request.flight == wire::kFlightAsk);
  if (waiting_ == 0) {
    loop_.post([this] { all_copied(); });
    return;
  }
  deadline_.start(kStopDeadline, [this] { all_copied(); });
}

void AgentStacks::ask_nccl() {
  const auto ranks = processes_.running_ranks();
  if (ranks.empty()) return;
  const std::string env = environ_text(ranks.front()->info().pid);
  nccl_waits_ = true;
  nccl_helper_ = std::make_unique<AgentHelper>(
      loop_, reaper_, binary_, "nccl-ras", ras_address_of(env), kRasLimit,
      [this](std::optional<std::string> report) {
        nccl_waits_ = false;
        if (report) nccl_ = std::move(*report);
        answer();
      });
}

// A second look: a script may set variables before it runs the program.
void AgentStacks::notice_ranks() {
  constexpr Milliseconds kSettled{10'000};
  const Clock::time_point now = Clock::now();
  for (const AgentProcess* process : processes_.running_ranks()) {
    const auto [it, fresh] =
        noticed_.try_emplace(process->info().rank, Noticed{{}, now, false});
    Noticed& one = it->second;
    if (!fresh && (one.again || now - one.first < kSettled)) continue;
    one.again = !fresh;
    one.place =
        flight_place(process->info().rank, environ_text(process->info().pid));
    one.place.since_ns = since_ns_;
  }
}

void AgentStacks::read_flight(bool ask) {
  wire::FlightRequest request{ask, {}};
  for (const auto& [rank, one] : noticed_) request.places.push_back(one.place);
  if (request.places.empty()) return;
  flight_waits_ = true;
  flight_helper_ = std::make_unique<AgentHelper>(
      loop_, reaper_, binary_, "flight-records", wire::to_json(request),
      kFlightLimit, [this](std::optional<std::string> records) {
        flight_waits_ = false;
        if (records) flight_ = std::move(*records);
        answer();
      });
}

void AgentStacks::stopped(pid_t pid, int wait_status) {
  auto snapshot = copy_and_thaw(pid, wait_status);
  const auto found = ranks_.find(pid);
  if (found == ranks_.end()) return;  // it took longer than the deadline
  if (snapshot) {
    found->second.snapshot = std::move(*snapshot);
  } else {
    found->second.rank.problem = snapshot.error().text();
  }
  if (--waiting_ == 0 && deadline_.pending()) all_copied();
}

void AgentStacks::all_copied() {
  deadline_.cancel();
  std::vector<StackSnapshot> snapshots;
  for (auto& [pid, looked] : ranks_) {
    if (signal_ > 0) ::kill(pid, signal_);
    if (looked.snapshot) {
      snapshots.push_back(std::move(*looked.snapshot));
    } else if (looked.rank.problem.empty()) {
      looked.rank.problem = "it did not stop in time";
    }
  }
  if (snapshots.empty()) {
    stacks_wait_ = false;
    answer();
    return;
  }
  helper_ = std::make_unique<AgentHelper>(
      loop_, reaper_, binary_, "stacks", to_text(snapshots), kHelperDeadline,
      [this](const std::optional<std::string>& text) {
        const auto named =
            wire::stack_reply_from_json(text ? *text : std::string("{}"));
        for (auto& [pid, looked] : ranks_) {
          if (!named && looked.rank.problem.empty()) {
            looked.rank.problem = "its functions could not be named in time";
          }
        }
        if (named) {
          for (const wire::RankStack& one : named->ranks) {
            const auto found = ranks_.find(one.pid);
            if (found != ranks_.end()) found->second.rank.frames = one.frames;
          }
        }
        stacks_wait_ = false;
        answer();
      });
}

void AgentStacks::answer() {
  if (stacks_wait_ || nccl_waits_ || flight_waits_) return;
  wire::StackReply reply;
  reply.addresses = own_pod_options().own_addresses;
  reply.nccl = std::move(nccl_);
  reply.flight = std::move(flight_);
  for (auto& [pid, looked] : ranks_) {
    reply.ranks.push_back(std::move(looked.rank));
  }
  ranks_.clear();
  busy_ = false;
  send_(wire::kStackReply, 0, id_, wire::to_json(reply));
}

int stacks_main() {
  const std::string text = read_to_end(STDIN_FILENO, kMaxInput);
  StackReader reader;
  wire::StackReply reply;
  for (const StackSnapshot& snapshot : snapshots_from_text(text)) {
    wire::RankStack rank;
    rank.pid = snapshot.pid;
    for (const StackFrame& frame : reader.frames(snapshot)) {
      rank.frames.push_back((frame.function.empty() ? "?" : frame.function) +
                            " (" + frame.file + ")");
    }
    reply.ranks.push_back(std::move(rank));
  }
  return write_all(STDOUT_FILENO, wire::to_json(reply)) ? 0 : 1;
}

}  // namespace muster
