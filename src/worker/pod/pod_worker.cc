// SPDX-License-Identifier: Apache-2.0
#include "worker/pod/pod_worker.h"

#include <fcntl.h>
#include <libssh/libssh.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/hostname.h"
#include "base/log.h"
#include "base/self_path.h"
#include "base/text.h"
#include "base/write_now.h"
#include "job/exit_codes.h"
#include "job/termination_message.h"
#include "sshd-lite/crypto_profile.h"
#include "sshd-lite/crypto_start.h"
#include "sshd-lite/sandbox.h"
#include "wire/agent_exit_code.h"
#include "wire/agent_tag.h"
#include "worker/facts/facts_collect.h"

namespace muster {

namespace {

// After KILL everything ends in an instant, or never (uninterruptible I/O).
constexpr Milliseconds kKillTimeout{3000};
constexpr Milliseconds kGoodbyeTimeout{1000};

Environment program_environment() {
  Environment out;
  for (auto& [name, value] : current_environment()) {
    if (name == kAgentTagVariable) continue;
    out.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

// A flood costs two descriptors for each child of a stranger, and one for each
// connection that waits, before its first bytes or for a child. The rest of
// this process keeps half of what the children leave.
size_t waiting_capacity(size_t max_children) {
  constexpr size_t kMin = 32;
  constexpr size_t kMax = 4096;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMin;
  const rlim_t left =
      limit.rlim_cur - std::min(limit.rlim_cur, rlim_t{2} * max_children);
  return std::clamp<rlim_t>(left / 4, kMin, kMax);
}

// The meaning of an agent's end for its job.
std::string job_end(int wait_status) {
  const int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  switch (code) {
    case kAgentJobSucceeded:
      return "the job here ended well";
    case kAgentDone:
      return "the job here ended";
    case kAgentProtocol:
      return "an agent served no job";
    case kAgentLauncherGone:
      return "the job here lost its launcher";
    default:
      return "an agent " + describe_wait_status(wait_status);
  }
}

}  // namespace

PodWorker::PodWorker(Loop& loop, PodOptions options)
    : loop_(loop),
      options_(std::move(options)),
      reaper_(loop),
      // pid 1 has no default actions: a signal without a handler is lost, as
      // HUP, USR1 and USR2 should be.
      signals_(
          loop, {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2},
          [this](const signalfd_siginfo& info) {
            const int signal = static_cast<int>(info.ssi_signo);
            if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
              on_stop_signal(signal);
            } else {
              log::debug("signal {} is ignored", signal);
            }
          }),
      stop_timer_(loop),
      orphan_timer_(loop),
      gpu_facts_(loop, reaper_) {}

Status PodWorker::start() {
  ::signal(SIGPIPE, SIG_IGN);
  // A lost line of the log is better than a pod that waits for its reader.
  log::redirect([](const std::string& line) {
    static_cast<void>(write_now(STDERR_FILENO, line));
  });
  if (::getpid() != 1) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    log::debug("not pid 1 (shared process namespace?): reaping as subreaper");
  }
  ssh_init();  // before the first fork, so that children need not
  start_crypto_for_many_logins();
  const auto libssh = check_libssh();
  if (!libssh) return tl::unexpected(libssh.error());
  options_.fips = options_.fips || platform_is_fips();
  raise_descriptor_limit();
  if (const auto opened = open_keys(); !opened) return opened;
  make_spawner();
  if (const auto made = make_server(); !made) return made;
  announce(server_->port(), *libssh);
  if (const std::string other = foreign_sshd(); !other.empty()) {
    log::info(
        "/usr/sbin/sshd is {}, not muster: that name does not start this "
        "worker (ln -sf /opt/muster/bin/muster /usr/sbin/sshd behind the "
        "package that took its place)",
        other);
  }
  learn();
  return {};
}

// Now, when no launch waits for it. An agent that comes before it is done, or
// needs another file, finds out by itself.
void PodWorker::learn() {
  if (std::string socket = gpu_facts_.start(options_.agent); !socket.empty()) {
    spawner_->add_agent_env(kGpuFactsVariable, std::move(socket));
  }
  constexpr Milliseconds kDeadline{10'000};
  learning_ = std::make_unique<AgentHelper>(
      loop_, reaper_, [] { return learn_image("").text(); }, kDeadline,
      [this](std::optional<std::string> known) {
        if (known)
          spawner_->add_agent_env(kKnownFilesVariable, std::move(*known));
      });
}

Status PodWorker::open_keys() {
  auto keys = KeyStore::open(options_.keys);
  if (!keys) return tl::unexpected(keys.error());
  keys_ = std::make_unique<KeyStore>(std::move(*keys));
  const JobKeys& now = keys_->current();
  for (const std::string& note : now.notes) log::warn("{}", note);
  if (options_.fips && now.private_key.type() == "ssh-ed25519") {
    return fail(Error{"key_unusable", "cannot use this SSH key",
                      "Ed25519 is not FIPS-approved", now.source,
                      "make the job's key with `muster keygen` (ECDSA)"});
  }
  return {};
}

Status PodWorker::open_audit(AuditOptions& out) {
  out.job = keys_->current().fingerprint;
  out.host = own_hostname();
  out.fd = STDERR_FILENO;
  out.json = options_.log_json || !options_.audit_log.empty();
  if (options_.audit_log == "none") out.fd = -1;
  if (options_.audit_log.empty() || out.fd < 0) return {};
  audit_file_.reset(::open(options_.audit_log.c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!audit_file_) {
    return fail_errno("audit", "cannot write audit records",
                      options_.audit_log);
  }
  out.fd = audit_file_.get();
  return {};
}

void PodWorker::make_spawner() {
  SpawnerOptions spawner;
  spawner.policy.agent = options_.agent;
  spawner.policy.allow_any = options_.allow_any_command;
  spawner.policy.allow_mpi_daemons = options_.allow_mpi_daemons;
  spawner.env = program_environment();
  spawner_ = std::make_unique<Spawner>(
      loop_, reaper_, std::move(spawner),
      [this](const ProgramExit& exit) { on_program_exit(exit); },
      [this] { on_idle(); });
}

Status PodWorker::make_server() {
  ServerEvents events;
  events.on_exec = [this](
                       ConnectionId id,
                       const ExecRequest& request) -> Result<StartedProgram> {
    // A command that began now would miss the stop, and delay the pod's.
    if (stop_signal_ != 0 || leaving_) {
      return fail(Error{"exec_refused",
                        "command refused",
                        "this worker is stopping",
                        {},
                        {}});
    }
    auto started = spawner_->start(id, request);
    if (started && spawner_->agents() > 0) orphan_timer_.cancel();
    return started;
  };
  events.on_signal = [this](ConnectionId id, int signal) {
    spawner_->signal(id, signal);
  };
  events.on_closed = [this](ConnectionId id) {
    spawner_->connection_closed(id);
    if (leaving_ && server_->connections() == 0) loop_.stop();
  };
  ServerOptions server;
  server.address = options_.address;
  server.port = options_.port;
  server.fips = options_.fips;
  server.max_waiting = waiting_capacity(server.max_unauthenticated);
  if (auto opened = open_audit(server.audit); !opened) return opened;
  auto listening = Server::listen(loop_, reaper_, *keys_, std::move(server),
                                  std::move(events));
  if (!listening) return tl::unexpected(listening.error());
  server_ = std::move(*listening);
  return {};
}

void PodWorker::announce(int port, const std::string& libssh) const {
  const JobKeys& keys = keys_->current();
  log::info(
      "muster {} worker ready on port {}, key {} ({}, {}), uid {}, libssh "
      "{}{}{}{}{}",
      MUSTER_VERSION, port, keys.fingerprint, keys.private_key.type(),
      keys.source, ::geteuid(), libssh, options_.fips ? ", FIPS" : "",
      has_system_call_filter() ? "" : ", no system call filter here",
      options_.allow_mpi_daemons ? "" : ", MPI daemons refused",
      options_.allow_any_command ? ", any command allowed" : "");
}

void PodWorker::on_program_exit(const ProgramExit& exit) {
  server_->report_exit(exit.connection, exit.wait_status);
  if (!exit.is_agent) return;
  log::info("{}", job_end(exit.wait_status));
  if (stop_signal_ != 0 || spawner_->agents() > 0) return;
  consider_release(exit.wait_status);
  consider_orphan(exit.wait_status);
}

void PodWorker::consider_release(int wait_status) {
  if (!options_.release_on_success || !WIFEXITED(wait_status) ||
      WEXITSTATUS(wait_status) != kAgentJobSucceeded) {
    return;
  }
  released_ = true;  // leaves when the sweep is done
}

void PodWorker::consider_orphan(int wait_status) {
  const int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  // An agent that never took a job (kAgentProtocol) has lost nothing.
  const bool orderly =
      code == 0 || code == kAgentProtocol || code == kAgentJobSucceeded;
  if (orderly || options_.orphan_grace.count() == 0) return;
  log::warn("the last agent lost its launcher; leaving in {} if none returns",
            human_duration_ms(options_.orphan_grace.count()));
  orphan_timer_.start(options_.orphan_grace, [this] {
    leave(exit_code_for(ExitClass::kWorkerLost),
          "the launcher went away without a goodbye and did not return for " +
              human_duration_ms(options_.orphan_grace.count()));
  });
}

void PodWorker::on_idle() {
  if (!spawner_->idle()) return;
  if (stop_signal_ != 0) {
    leave(job_cut_ ? 128 + stop_signal_ : 0,
          job_cut_ ? "stopped from outside while a job ran" : "stopped");
  } else if (released_ && spawner_->agents() == 0) {
    leave(0, "the job has succeeded and the pod is released");
  }
}

void PodWorker::on_stop_signal(int signal) {
  if (leaving_ || stop_signal_ != 0) return;
  stop_signal_ = signal;
  orphan_timer_.cancel();
  server_->stop_accepting();
  job_cut_ = spawner_->agents() > 0;
  if (spawner_->idle()) return on_idle();
  const auto agents = spawner_->agents();
  log::info("signal {}: {} {} {} to end", signal, agents,
            agents == 1 ? "running agent has" : "running agents have",
            human_duration_ms(options_.stop_grace.count()));
  spawner_->signal_all(SIGTERM);
  stop_timer_.start(options_.stop_grace, [this] {
    spawner_->kill_all();
    stop_timer_.start(kKillTimeout, [this] {
      leave(128 + stop_signal_, "processes of a job did not end in time");
    });
  });
}

void PodWorker::leave(int exit_code, const std::string& why) {
  if (leaving_) return;
  exit_code_ = exit_code;
  log::info("leaving with exit code {}: {}", exit_code, why);
  if (exit_code != 0) {
    write_termination_message(options_.termination_log,
                              "muster worker: " + why + "\n");
  }
  // The launchers should still hear how their agents ended.
  leaving_ = true;
  if (server_->connections() == 0) return loop_.stop();
  server_->stop_accepting();
  stop_timer_.start(kGoodbyeTimeout, [this] { loop_.stop(); });
}

}  // namespace muster
