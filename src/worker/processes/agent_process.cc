// SPDX-License-Identifier: Apache-2.0
#include "worker/processes/agent_process.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "base/process_table.h"
#include "worker/rank/rank_protocol.h"

namespace muster {

namespace {
// How long output may still come from a background process after the exit.
constexpr Milliseconds kLinger{2000};
// The last output of a failed rank is there by then, unless another process
// holds its pipes.
constexpr Milliseconds kLastWords{50};
// The agent does not ask programs that end before this.
constexpr Milliseconds kFirstMpiSample{150};
static_assert(kFirstMpiSample > RecentProcesses::kMoment);
constexpr Milliseconds kNextMpiSample{1000};
// Text without a line end waits this long for one. Rank 0 reads stdin, so that
// its text may be a prompt.
constexpr Milliseconds kPartialLine{1000};
constexpr Milliseconds kPrompt{100};

// By a signal, or, through a shell, its command by SIGKILL. A rank that ends
// otherwise may only have missed another one that the kernel killed.
bool was_killed(int wait_status) {
  constexpr int kShells = 128;
  return WIFSIGNALED(wait_status) ||
         (WIFEXITED(wait_status) &&
          WEXITSTATUS(wait_status) == kShells + SIGKILL);
}

}  // namespace

AgentProcess::AgentProcess(Loop& loop, RecentProcesses& recent, SendFrame send,
                           AgentProcessInfo info, Pipes pipes, uint32_t credit,
                           std::function<void()> complete)
    : recent_(recent),
      send_(send),
      info_(std::move(info)),
      complete_(std::move(complete)),
      sample_timer_(loop),
      linger_(loop),
      out_(loop, send, info_.id, wire::kStdout, std::move(pipes.out), credit,
           info_.rank > 0 ? kPartialLine : kPrompt, [this] { stream_ended(); }),
      err_(loop, send, info_.id, wire::kStderr, std::move(pipes.err), credit,
           info_.rank > 0 ? kPartialLine : kPrompt,
           [this] { stream_ended(); }) {
  if (pipes.in) {
    in_ = std::make_unique<InputPipe>(loop, std::move(send), info_.id,
                                      std::move(pipes.in));
  }
  sample_later(kFirstMpiSample);
}

void AgentProcess::add_credit(uint8_t stream, uint32_t bytes) {
  if ((stream & wire::kStdout) != 0) out_.add_credit(bytes);
  if ((stream & wire::kStderr) != 0) err_.add_credit(bytes);
}

bool AgentProcess::write_stdin(std::string_view bytes) {
  return !in_ || in_->write(bytes);
}

void AgentProcess::end_stdin() {
  if (in_) in_->end();
}

void AgentProcess::signal(int number) const {
  if (exited_ || info_.pid <= 1) return;
  // A daemon may signal the wrapper too: it passes the same signal on once.
  if (info_.wrapper > 1 && rank_wrapper_forwards(number)) {
    ::kill(info_.wrapper, number);
  } else {
    ::kill(-info_.pid, number);  // each leads a process group
  }
}

// The kernel holds a process up while it lists its maps, so an older one is
// asked less often. A process that seems to be alone may still load the library
// that joins the others, so it is asked again, and reported when it was alone
// twice.
void AgentProcess::sample_later(Milliseconds delay) {
  sample_timer_.start(delay, [this] {
    const bool was_lonely = !lonely_mpi_.empty();
    look_for_mpi();
    if (info_.found_nccl) look_for_nccl();
    if (loaded_mpi_ && lonely_mpi_.empty() && !info_.found_nccl) return;
    if (was_lonely && !lonely_mpi_.empty()) tell_lonely();
    const auto age =
        std::chrono::duration_cast<Milliseconds>(Clock::now() - started_);
    sample_later(std::max(kNextMpiSample, age / 8));
  });
}

void AgentProcess::look_for_mpi() {
  for (const pid_t pid : recent_.with_descendants(info_.pid)) {
    const LoadedMpi loaded = loaded_mpi(pid);
    if (!loaded.any()) continue;
    loaded_mpi_ = true;
    if (!info_.servers) continue;
    lonely_mpi_ = mpi_without_server(loaded, *info_.servers);
    if (lonely_mpi_.empty()) break;
  }
}

void AgentProcess::look_for_nccl() {
  for (const pid_t pid : recent_.with_descendants(info_.pid)) {
    LoadedNccl loaded = loaded_nccl(pid);
    if (loaded.path.empty()) continue;
    return std::exchange(info_.found_nccl, nullptr)(std::move(loaded));
  }
}

void AgentProcess::tell_lonely() {
  // The other ranks are the same: reports it once for all.
  if (info_.rank != 0 || std::exchange(told_lonely_, true)) return;
  send_(wire::FrameType::kLog, 0, 0,
        wire::to_json(wire::LogLine{
            "warn",
            "rank 0 has loaded " + lonely_mpi_ +
                ", but the mpirun that started it is another MPI's: it cannot "
                "join the other ranks and runs alone, as a world of size 1. "
                "What to do: start it with the mpirun of the MPI that it was "
                "built with, or with --bootstrap pmix, which serves both"}));
}

void AgentProcess::exited(wire::Exited exit, int64_t oom_kills_now) {
  if (exited_) return;
  exit.loaded_mpi = loaded_mpi_;
  exit.lonely_mpi = lonely_mpi_;
  exit.oom_killed = was_killed(exit.wait_status) &&
                    info_.oom_kills_before >= 0 &&
                    oom_kills_now > info_.oom_kills_before;
  exited_ = exit;
  exited_at_ = Clock::now();
  sample_timer_.cancel();
  in_.reset();
  out_.process_exited();
  err_.process_exited();
  linger_.start(kLastWords, [this] { tell_failure(); });
  stream_ended();
}

void AgentProcess::tell_failure() {
  linger_.start(kLinger - kLastWords, [this] { give_up_streams(); });
  if (info_.rank < 0 || exited_->wait_status == 0) return;
  exited_->draining = true;
  send_exited();
  exited_->draining = false;
}

void AgentProcess::give_up_streams() {
  out_.give_up();
  err_.give_up();
}

void AgentProcess::stream_ended() {
  if (!exited_ || reported_ || !out_.ended() || !err_.ended()) return;
  reported_ = true;
  linger_.cancel();
  exited_->bytes_lost = out_.bytes_lost() + err_.bytes_lost();
  send_exited();
  complete_();
}

void AgentProcess::send_exited() {
  exited_->ended_ms_ago =
      std::chrono::duration_cast<Milliseconds>(Clock::now() - exited_at_)
          .count();
  send_(wire::FrameType::kExited, 0, info_.id, wire::to_json(*exited_));
}

}  // namespace muster
