// SPDX-License-Identifier: Apache-2.0
#include "worker/pod/spawner.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/log.h"
#include "base/printable.h"
#include "base/process_table.h"
#include "base/random.h"
#include "job/agent_holders.h"
#include "logs/masker.h"
#include "wire/agent_tag.h"

namespace muster {

namespace {

constexpr int kSweepRounds = 20;  // then the leftovers are beyond us
constexpr Milliseconds kSweepInterval{100};
constexpr Milliseconds kStoppedInterval{1000};
constexpr int kStoppedLooks = 3;

bool is_stopped(pid_t pid) {
  const char state = process_state(pid);
  return state == 'T' || state == 't';
}

Result<ProgramPipes> run(const std::vector<std::string>& argv,
                         const Environment& env, pid_t& pid) {
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  for (const auto* pipe : {&input, &output, &errors}) {
    if (!*pipe) return tl::unexpected(pipe->error());
  }
  SpawnOptions options;
  options.argv = argv;
  options.env = env;
  options.fds = {{input->read.get(), 0},
                 {output->write.get(), 1},
                 {errors->write.get(), 2}};
  const auto started = spawn(options);
  if (!started) return tl::unexpected(started.error());
  pid = *started;
  return ProgramPipes{std::move(input->write), std::move(output->read),
                      std::move(errors->read)};
}

// As the shell would: `NAME=value:$NAME`; an unset one leaves an empty end.
void apply(const EnvChange& change, Environment& env) {
  std::string value = change.value;
  if (change.keeps_old) {
    const std::string* old = find_env(env, change.name);
    value += ':' + (old != nullptr ? *old : std::string());
  }
  set_env(env, change.name, std::move(value));
}

// A command may hold a secret that looks like any word; logging it all the same
// is the price of --allow-any-command.
std::string without_secrets(const std::string& command,
                            const Environment& env) {
  const auto masker = Masker::create({env, {}});
  return masker ? masker->masked(command) : std::string();
}

}  // namespace

Spawner::Spawner(Loop& loop, Reaper& reaper, SpawnerOptions options,
                 std::function<void(const ProgramExit&)> on_exit,
                 std::function<void()> on_idle)
    : loop_(loop),
      reaper_(reaper),
      options_(std::move(options)),
      on_exit_(std::move(on_exit)),
      on_idle_(std::move(on_idle)) {}

Spawner::~Spawner() {
  for (const Program& program : programs_) reaper_.forget(program.pid);
}

void Spawner::add_agent_env(std::string_view name, std::string value) {
  set_env(agent_env_, name, std::move(value));
}

Result<StartedProgram> Spawner::start(ConnectionId connection,
                                      const ExecRequest& request) {
  const auto allowed = decide_exec(options_.policy, request.command);
  if (!allowed) {
    // The sentence quotes the command, and cuts it: mask it before that.
    const auto told = decide_exec(
        options_.policy, without_secrets(request.command, options_.env));
    if (!told) return tl::unexpected(told.error());
    Error error = allowed.error();
    error.why = without_secrets(error.why, options_.env);
    return tl::unexpected(std::move(error));
  }
  Program program;
  program.connection = connection;
  program.is_agent = allowed->kind == CommandKind::kAgent;
  program.tag = random_id();
  Environment env = options_.env;
  if (program.is_agent) {
    for (const auto& [name, value] : agent_env_) set_env(env, name, value);
  }
  for (const auto& [name, value] : request.env) set_env(env, name, value);
  for (const EnvChange& change : allowed->changes) apply(change, env);
  set_env(env, kAgentTagVariable, program.tag);
  auto pipes = run(allowed->argv, env, program.pid);
  if (!pipes) return tl::unexpected(pipes.error());
  log::debug("started {} as process {}", allowed->argv[0], program.pid);
  reaper_.watch(program.pid, [this](const ChildExit& exit) { ended(exit); });
  StartedProgram out{std::move(*pipes),
                     program.pid,
                     std::string(command_kind_name(allowed->kind)),
                     {}};
  if (allowed->kind == CommandKind::kAny) {
    out.shown = printable(without_secrets(request.command, env), 200);
  }
  programs_.push_back(std::move(program));
  return out;
}

void Spawner::ended(const ChildExit& exit) {
  const auto program =
      std::find_if(programs_.begin(), programs_.end(),
                   [&exit](const Program& p) { return p.pid == exit.pid; });
  if (program == programs_.end()) return;
  const Program ended = std::move(*program);
  programs_.erase(program);
  // Daemons that a foreign command left running on purpose (orted) stay; the
  // leftovers of an agent have lost their launcher.
  if (ended.is_agent || killing_) {
    sweep_later(ended.tag, WIFSIGNALED(exit.wait_status));
  }
  on_exit_(ProgramExit{ended.connection, exit.wait_status, ended.is_agent});
  settle();
}

void Spawner::sweep_later(const std::string& tag, bool killed) {
  if (tag.empty()) return;
  sweeps_.push_back(Sweep{tag, killed, 0, std::make_unique<Timer>(loop_)});
  sweep_round(tag);
}

// Round 0 sends TERM; once the grace is over every round sends KILL, since a
// process may fork while the table is read.
void Spawner::sweep_round(const std::string& tag) {
  const auto sweep =
      std::find_if(sweeps_.begin(), sweeps_.end(),
                   [&tag](const Sweep& s) { return s.tag == tag; });
  if (sweep == sweeps_.end()) return;
  const auto waited = sweep->round * kSweepInterval;
  const bool hard = killing_ || waited >= options_.sweep_grace;
  size_t left = 0;
  for (const pid_t pid : processes_with_env(kAgentTagVariable, tag)) {
    if (!is_alive(pid)) continue;
    ++left;
    if (sweep->round == 0) {
      log::warn("process {} outlived its agent and is ended", pid);
    }
    if (hard) {
      ::kill(pid, SIGKILL);
    } else if (sweep->round == 0) {
      ::kill(pid, SIGTERM);
    }
  }
  const auto hard_rounds = options_.sweep_grace / kSweepInterval + kSweepRounds;
  if (left == 0 || ++sweep->round > hard_rounds) {
    if (left > 0) log::error("{} processes do not end, even by KILL", left);
    const bool killed = sweep->killed;
    sweeps_.erase(sweep);
    if (killed) clear_after_killed_agents();
    settle();
    return;
  }
  sweep->timer->start(kSweepInterval, [this, tag] { sweep_round(tag); });
}

void Spawner::settle() {
  if (idle() && on_idle_) loop_.post(on_idle_);
}

void Spawner::signal(ConnectionId connection, int signal) {
  for (const Program& program : programs_) {
    if (program.connection != connection) continue;
    // A program leads its own session; an agent passes signals on itself.
    ::kill(program.is_agent ? program.pid : -program.pid, signal);
  }
}

void Spawner::connection_closed(ConnectionId connection) {
  for (Program& program : programs_) {
    if (program.connection != connection || !program.is_agent) continue;
    program.look = std::make_unique<Timer>(loop_);
    look_for_stopped(connection);
    return;
  }
}

void Spawner::look_for_stopped(ConnectionId connection) {
  for (Program& program : programs_) {
    if (program.connection != connection || !program.look) continue;
    program.stopped = is_stopped(program.pid) ? program.stopped + 1 : 0;
    if (program.stopped == kStoppedLooks) {
      log::warn("agent {} is stopped, its launcher is gone: it is killed",
                program.pid);
      ::kill(program.pid, SIGKILL);
    }
    program.look->start(kStoppedInterval,
                        [this, connection] { look_for_stopped(connection); });
    return;
  }
}

void Spawner::signal_all(int signal) {
  for (const Program& program : programs_) {
    ::kill(program.is_agent ? program.pid : -program.pid, signal);
  }
}

void Spawner::kill_all() {
  killing_ = true;
  for (const Program& program : programs_) {
    ::kill(program.pid, SIGKILL);
    for (const pid_t pid : processes_with_env(kAgentTagVariable, program.tag)) {
      ::kill(pid, SIGKILL);
    }
  }
}

size_t Spawner::agents() const {
  return static_cast<size_t>(
      std::count_if(programs_.begin(), programs_.end(),
                    [](const Program& p) { return p.is_agent; }));
}

bool Spawner::idle() const { return programs_.empty() && sweeps_.empty(); }

}  // namespace muster
