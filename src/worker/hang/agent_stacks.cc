// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/agent_stacks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include "base/fd.h"
#include "base/read_to_end.h"
#include "base/text.h"
#include "job/pod_view.h"
#include "stacks/frame_names.h"
#include "stacks/thread_freeze.h"
#include "worker/hang/agent_flight.h"
#include "worker/hang/agent_ras.h"
#include "worker/hang/rank_program.h"
#include "worker/hang/stack_text.h"
#include "worker/hang/uncaught.h"

namespace muster {

namespace {

constexpr Milliseconds kStopDeadline{1'000};
constexpr Milliseconds kHelperDeadline{8'000};
constexpr size_t kMaxInput = 256 << 20;

}  // namespace

AgentStacks::AgentStacks(Loop& loop, Reaper& reaper, AgentProcesses& processes,
                         FlightPlaces& places, SendFrame send)
    : loop_(loop),
      reaper_(reaper),
      processes_(processes),
      places_(places),
      send_(std::move(send)),
      deadline_(loop) {}

bool AgentStacks::frame(const wire::Frame& frame, const std::string& binary) {
  if (frame.type != wire::FrameType::kStackRequest) return false;
  const auto request = wire::stack_request_from_json(frame.payload);
  if (!request || busy_) {
    send_(wire::FrameType::kStackReply, 0, frame.id,
          wire::to_json(wire::StackReply{}));
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
  places_.notice();
  for (const AgentProcess* process : processes_.running_ranks()) {
    const int rank = process->info().rank;
    if (!request.ranks.empty() &&
        std::find(request.ranks.begin(), request.ranks.end(), rank) ==
            request.ranks.end()) {
      continue;
    }
    const pid_t pid = program_of(process->info().pid);
    const ProcessStat stat = process_stat(pid);
    Looked& looked = ranks_[pid];
    looked.rank = {rank, pid, stat.name, stat.state, stat.threads, {}, {}};
    const ProcessUse use = use_of_tree(pid);
    looked.rank.cpu_ms = use.cpu_ms;
    looked.rank.io_bytes = use.io_bytes;
    if (auto frozen = freeze(pid); !frozen) {
      looked.rank.problem = frozen.error().text();
      continue;
    }
    ++waiting_;
    reaper_.watch_stop(pid, [this, pid](int status) { stopped(pid, status); });
  }
  note_raised(request.raised);
  if (request.nccl == 1) ask_nccl();
  if (request.flight > 0) read_flight(request.flight == wire::kFlightAsk);
  if (waiting_ == 0) {
    loop_.post([this] { all_copied(); });
    return;
  }
  deadline_.start(kStopDeadline, [this] { all_copied(); });
}

void AgentStacks::note_raised(const std::vector<std::string>& raised) {
  raised_.clear();
  for (const auto& [pid, looked] : ranks_) {
    const std::string rank = std::to_string(looked.rank.rank) + " ";
    for (const std::string& one : raised) {
      if (!one.starts_with(rank)) continue;
      const std::string place = one.substr(rank.size());
      const size_t space = place.find(' ');
      const auto line = parse_integer(place.substr(0, space));
      if (space == std::string::npos || !line) continue;
      raised_ += to_text(RaisedAt{pid, static_cast<int>(*line),
                                  one_line(place.substr(space + 1), PATH_MAX)});
    }
  }
}

void AgentStacks::ask_nccl() {
  const auto ranks = processes_.running_ranks();
  if (ranks.empty()) return;
  const std::string env = program_environ(ranks.front()->info().pid);
  nccl_waits_ = true;
  nccl_helper_ = std::make_unique<AgentHelper>(
      loop_, reaper_, binary_, "nccl-ras", ras_address_of(env), kRasLimit,
      [this](std::optional<std::string> report) {
        nccl_waits_ = false;
        if (report) nccl_ = std::move(*report);
        answer();
      });
}

void AgentStacks::read_flight(bool ask) {
  const wire::FlightRequest request{ask, places_.all()};
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
      loop_, reaper_, binary_, "stacks", raised_ + to_text(snapshots),
      kHelperDeadline, [this](const std::optional<std::string>& text) {
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
            if (found == ranks_.end()) continue;
            found->second.rank.frames = one.frames;
            found->second.rank.uncaught = one.uncaught;
            found->second.rank.mark = one.mark;
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
    const ProcessUse use = use_of_tree(pid);
    looked.rank.cpu_ms_after = use.cpu_ms;
    looked.rank.io_bytes_after = use.io_bytes;
    reply.ranks.push_back(std::move(looked.rank));
  }
  ranks_.clear();
  busy_ = false;
  send_(wire::FrameType::kStackReply, 0, id_, wire::to_json(reply));
}

int stacks_main() {
  const std::string text = read_to_end(STDIN_FILENO, kMaxInput);
  StackReader reader;
  wire::StackReply reply;
  const auto raised = raised_from_text(text);
  for (const StackSnapshot& snapshot : snapshots_from_text(text)) {
    wire::RankStack rank;
    rank.pid = snapshot.pid;
    for (const RaisedAt& one : raised) {
      if (one.pid == rank.pid && is_uncaught(one)) rank.uncaught = 1;
    }
    const auto frames = reader.frames(snapshot);
    for (const StackFrame& frame : frames) {
      rank.frames.push_back(
          (frame.function.empty() ? "?" : short_function(frame.function)) +
          " (" + frame.file + ")");
    }
    const auto call = call_at(rank.frames);
    if (call && *call + 1 < frames.size()) {
      rank.mark = stack_mark(snapshot, frames[*call + 1]);
    }
    reply.ranks.push_back(std::move(rank));
  }
  return write_all(STDOUT_FILENO, wire::to_json(reply)) ? 0 : 1;
}

}  // namespace muster
