// SPDX-License-Identifier: Apache-2.0
#include "worker/processes/agent_processes.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/process_table.h"
#include "job/cpu_list.h"
#include "worker/base/agent_exit.h"
#include "worker/base/agent_sweep.h"
#include "worker/rank/mpirun_leftovers.h"
#include "worker/rank/rank_directory.h"

namespace muster {

namespace {

struct ChildPipes {
  Pipe in;  // empty unless stdin is open
  Pipe out;
  Pipe err;
};

Result<ChildPipes> make_child_pipes(bool with_stdin) {
  ChildPipes pipes;
  auto out = make_pipe();
  if (!out) return tl::unexpected(out.error());
  auto err = make_pipe();
  if (!err) return tl::unexpected(err.error());
  pipes.out = std::move(*out);
  pipes.err = std::move(*err);
  if (with_stdin) {
    auto in = make_pipe();
    if (!in) return tl::unexpected(in.error());
    pipes.in = std::move(*in);
  }
  return pipes;
}

}  // namespace

AgentProcesses::AgentProcesses(Loop& loop, Reaper& reaper, SendFrame send,
                               std::function<int64_t()> oom_kills)
    : loop_(loop),
      reaper_(reaper),
      send_(std::move(send)),
      oom_kills_(std::move(oom_kills)) {}

Environment AgentProcesses::environment_for(
    const wire::StartRequest& request) const {
  Environment env = current_environment();
  std::erase_if(env, [&request](const auto& entry) {
    return entry.first == "MUSTER_RANK" ||
           std::find(request.unset.begin(), request.unset.end(), entry.first) !=
               request.unset.end();
  });
  for (const auto& [name, value] : request.env) set_env(env, name, value);
  set_env(env, kLaunchIdVariable, identity_.launch_id);
  set_env(env, kAgentKeyVariable, identity_.agent_key);
  set_env(env, kRunDirVariable, identity_.run_dir);
  if (request.kind == wire::ProcessKind::kRank) {
    set_env(env, "MUSTER_RANK", std::to_string(request.rank));
  }
  if (request.kind == wire::ProcessKind::kDaemon) {
    // A killed orted or prted leaves its session directory: in ours it goes
    // with us. (Not for mpirun, which would pass our path on to other hosts.)
    for (const char* name :
         {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"}) {
      if (find_env(env, name) == nullptr) set_env(env, name, identity_.run_dir);
    }
  }
  return env;
}

void AgentProcesses::start(uint32_t id, const wire::StartRequest& request) {
  if (id == 0 || id >= wire::kAttachedIds || processes_.count(id) != 0) {
    return refuse(id, Error{"protocol",
                            "cannot start a process",
                            "the launcher chose the id " + std::to_string(id) +
                                ", which is in use or out of range",
                            {},
                            "this is a defect of muster; report it"});
  }
  auto pipes = make_child_pipes(request.stdin_open);
  if (!pipes) return refuse(id, pipes.error());
  SpawnOptions options;
  options.argv = request.argv;
  options.program = request.program;
  options.env = environment_for(request);
  options.cwd = rank_directory(request.cwd, request.cwd_if_there);
  options.cpus = request.cpus;
  options.parent_death_signal = SIGKILL;
  options.fds = {{pipes->out.write.get(), 1}, {pipes->err.write.get(), 2}};
  if (pipes->in.read) options.fds.emplace_back(pipes->in.read.get(), 0);
  UniqueFd pmi_end;
  const bool pmi = pmi_ != nullptr && request.kind == wire::ProcessKind::kRank;
  if (pmi) pmi_end = pmi_->prepare(request.rank, options.env, options.fds);
  AgentProcessInfo info;
  info.oom_kills_before = oom_kills_();
  int bind_error = 0;
  const auto pid = spawn(options, &bind_error);
  if (!pid) return refuse(id, pid.error());
  if (bind_error != 0) {
    // Like the wrapper of mpirun's ranks: slow is better than not at all.
    log("warn", "rank " + std::to_string(request.rank) +
                    " is not bound to CPUs " + cpu_list_text(request.cpus) +
                    ": " + strerror(bind_error));
  }

  info.id = id;
  info.pid = *pid;
  info.rank = request.kind == wire::ProcessKind::kRank ? request.rank : -1;
  info.program = request.argv[0];
  info.rank_env = request.rank_env;
  info.local_rank_env = request.local_rank_env;
  send_(wire::FrameType::kStarted, 0, id, wire::to_json(wire::Started{*pid}));
  // A mpirun that ends by itself cleans up by itself.
  Environment tool_env;
  if (request.kind == wire::ProcessKind::kTool) tool_env = options.env;
  reaper_.watch(*pid, [this, id, pmi,
                       tool_env = std::move(tool_env)](const ChildExit& exit) {
    if (!tool_env.empty() && WIFSIGNALED(exit.wait_status)) {
      remove_mpirun_sessions(tool_env, exit.pid);
    }
    const auto found = processes_.find(id);
    if (found == processes_.end()) return;
    wire::Exited exited = to_exited(exit);
    if (pmi) pmi_->ended(found->second->info().rank, exited);
    found->second->exited(exited, oom_kills_());
  });
  add(std::move(info),
      {std::move(pipes->in.write), std::move(pipes->out.read),
       std::move(pipes->err.read)},
      request.credit);
}

uint32_t AgentProcesses::attach(wire::Attached attached, pid_t wrapper,
                                AgentProcess::Pipes pipes) {
  AgentProcessInfo info;
  info.id = next_attached_id_++;
  info.pid = attached.pid;
  info.rank = attached.rank;
  info.wrapper = wrapper;
  info.program = attached.program;
  if (attached.size > 1) info.servers = {attached.pmix, attached.pmi};
  info.oom_kills_before = oom_kills_();
  const uint32_t id = info.id;
  send_(wire::FrameType::kAttached, 0, id, wire::to_json(attached));
  add(std::move(info), std::move(pipes), wire::kFirstCredit);
  return id;
}

void AgentProcesses::attached_exited(uint32_t id, const wire::Exited& exit) {
  const auto found = processes_.find(id);
  if (found != processes_.end()) found->second->exited(exit, oom_kills_());
}

void AgentProcesses::add(AgentProcessInfo info, AgentProcess::Pipes pipes,
                         uint32_t credit) {
  const uint32_t id = info.id;
  // The other ranks of the pod are the same.
  if (info.rank >= 0 && !std::exchange(looks_for_nccl_, true)) {
    info.found_nccl = [this, rank = info.rank](LoadedNccl found) {
      nccl_ = std::move(found);
      nccl_rank_ = rank;
    };
  }
  // Erases the entry on a later turn: its own code is still on the stack here.
  auto complete = [this, id] {
    loop_.post([this, id] { processes_.erase(id); });
  };
  processes_[id] = std::make_unique<AgentProcess>(
      loop_, recent_, send_, std::move(info), std::move(pipes), credit,
      std::move(complete));
}

void AgentProcesses::tell_nccl(wire::PodCounters& out) const {
  out.nccl_version = nccl_.version;
  out.nccl_path = nccl_.path;
  out.nccl_rank = nccl_rank_;
}

void AgentProcesses::refuse(uint32_t id, const Error& error) {
  wire::StartFailed failed;
  failed.error = error;
  failed.exit_code = error.code == "exe_not_found" ? 127 : 126;
  send_(wire::FrameType::kStartFailed, 0, id, wire::to_json(failed));
}

void AgentProcesses::signal(uint32_t id, int number) {
  for (const auto& [key, process] : processes_) {
    if (id == 0 || key == id) process->signal(number);
  }
}

void AgentProcesses::signal_ranks(int number) {
  for (const auto& [key, process] : processes_) {
    if (process->info().rank >= 0) process->signal(number);
  }
}

void AgentProcesses::signal_tools(int number) {
  for (const auto& [key, process] : processes_) {
    if (process->info().rank < 0) process->signal(number);
  }
}

void AgentProcesses::add_credit(uint32_t id, uint8_t stream, uint32_t bytes) {
  const auto found = processes_.find(id);
  if (found != processes_.end()) found->second->add_credit(stream, bytes);
}

void AgentProcesses::write_stdin(uint32_t id, std::string_view bytes) {
  const auto found = processes_.find(id);
  if (found == processes_.end() || found->second->write_stdin(bytes)) return;
  log("error", "stdin of process " + std::to_string(id) +
                   " was closed: the launcher sent more than it had credit "
                   "for; this is a defect of muster");
  found->second->end_stdin();
}

void AgentProcesses::end_stdin(uint32_t id) {
  const auto found = processes_.find(id);
  if (found != processes_.end()) found->second->end_stdin();
}

std::vector<const AgentProcess*> AgentProcesses::running_ranks() const {
  std::vector<const AgentProcess*> out;
  for (const auto& [id, process] : processes_) {
    if (process->running() && process->info().rank >= 0) {
      out.push_back(process.get());
    }
  }
  return out;
}

bool AgentProcesses::any_running() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const auto& p) { return p.second->running(); });
}

bool AgentProcesses::is_attached(pid_t pid) const {
  return std::any_of(
      processes_.begin(), processes_.end(), [pid](const auto& p) {
        const AgentProcessInfo& info = p.second->info();
        return info.wrapper != 0 && (info.pid == pid || info.wrapper == pid);
      });
}

const AgentProcess* AgentProcesses::ancestor_of(pid_t pid) const {
  constexpr int kDeepest = 64;
  for (int depth = 0; depth < kDeepest && pid > 1; ++depth) {
    for (const auto& [id, process] : processes_) {
      if (process->info().wrapper == 0 && process->info().pid == pid) {
        return process.get();
      }
    }
    pid = parent_of(pid);
  }
  return nullptr;
}

void AgentProcesses::log(const std::string& level, const std::string& text) {
  send_(wire::FrameType::kLog, 0, 0, wire::to_json(wire::LogLine{level, text}));
}

}  // namespace muster
