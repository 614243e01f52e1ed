// SPDX-License-Identifier: Apache-2.0
#include "launcher/launch.h"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "base/fd.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/self_path.h"
#include "base/text.h"
#include "launcher/incarnation.h"
#include "launcher/launch_environment.h"
#include "launcher/launch_evidence.h"
#include "launcher/launch_status.h"
#include "launcher/log_choice.h"
#include "launcher/modex_map.h"
#include "launcher/mpirun_backend.h"
#include "launcher/native_backend.h"
#include "launcher/plan_text.h"
#include "launcher/process_transport.h"
#include "launcher/ssh_transport.h"

namespace muster {

namespace {

constexpr Milliseconds kFactsDeadline{15'000};
constexpr Milliseconds kProbeDeadline{12'000};
constexpr Milliseconds kListenDeadline{5'000};
constexpr Milliseconds kLeaveDeadline{3'000};
constexpr Milliseconds kDrainLimit{30'000};
constexpr Milliseconds kLastWords{5'000};
constexpr Milliseconds kStatusInterval{2'000};
constexpr size_t kMemorySamples = 8;

std::string login_name(const LaunchOptions& options) {
  if (!options.ssh_user.empty()) return options.ssh_user;
  const passwd* entry = ::getpwuid(::geteuid());
  // sshd-lite takes any name; a real sshd needs an existing one.
  return entry != nullptr ? entry->pw_name : "root";
}

}  // namespace

Launch::Launch(Loop& loop, LaunchOptions options, Discovery discovery)
    : loop_(loop),
      options_(std::move(options)),
      discovery_(std::move(discovery)),
      launch_id_(new_launch_id()),
      started_ns_(realtime_ns()),
      reaper_(loop),
      signals_(loop, {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2},
               [this](const signalfd_siginfo& info) { on_signal(info); }),
      leave_timer_(loop),
      status_timer_(loop) {}

Launch::~Launch() {
  if (!output_) return;
  output_->drain(kLastWords);
  log::redirect({});
}

void Launch::start() {
  if (auto prepared = prepare(); !prepared) {
    fail(prepared.error());
    return;
  }
  connect();
}

Status Launch::prepare() {
  auto agent = agent_path();
  if (!agent) return muster::fail(agent.error());
  agent_ = std::move(*agent);
  auto directory = RuntimeDir::create("run-" + launch_id_);
  if (!directory) return muster::fail(directory.error());
  directory_ = std::move(*directory);
  OutputOptions output = choose_output(options_);
  if (auto ready = prepare_log_directory(output.directory); !ready) {
    return ready;
  }
  output_ = std::make_unique<RankOutput>(
      loop_, std::move(output),
      [this](ProcessKey key, uint8_t stream, uint32_t bytes) {
        fleet_->send(key.node, wire::FrameType::kOutputCredit, key.id,
                     wire::u32_payload(bytes), stream);
      });
  if (options_.mask) {
    auto masker = make_masker(options_, discovery_.env);
    if (!masker) return muster::fail(masker.error());
    output_->set_masker(std::move(*masker));
  }
  if (options_.metrics_port > 0) {
    metrics_ = std::make_unique<MetricsServer>(
        loop_, [this] { return metrics_text(status(), realtime_ns()); });
    if (auto serving = metrics_->listen(options_.metrics_port); !serving) {
      return serving;
    }
  }
  // From here on a stderr that nobody reads cannot hold up the loop.
  log::redirect([this](std::string line) {
    output_->own_line(std::move(line));
  });
  return {};
}

std::vector<FleetNode> Launch::fleet_nodes() {
  std::vector<FleetNode> nodes;
  nodes.push_back({discovery_.hostname, {}, [this] {
                     return make_transport(0);
                   }});
  bool self_taken = false;
  for (const JobHost& host : discovery_.hosts) {
    if (host.is_self && !self_taken) {
      self_taken = true;
      nodes[0].host = host.entry.name;
      node_of_host_.push_back(0);
      continue;
    }
    const auto node = static_cast<uint16_t>(nodes.size());
    node_of_host_.push_back(node);
    nodes.push_back({host.entry.name, {}, [this, node] {
                       return make_transport(node);
                     }});
  }
  if (options_.local) {
    // Emulated nodes share one machine, and one agent per job is the rule.
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].job = launch_id_ + "-" + std::to_string(i);
    }
  }
  const bool looked_up = !options_.local && options_.exec_transport.empty();
  for (size_t i = 1; i < nodes.size(); ++i) nodes[i].looked_up = looked_up;
  return nodes;
}

std::unique_ptr<Transport> Launch::make_transport(uint16_t node) {
  const std::string& host = fleet_->dialer(node).host();
  if (node == 0 || options_.local) {
    return std::make_unique<ProcessTransport>(
        loop_, reaper_, host, std::vector<std::string>{agent_, "agent"},
        current_environment());
  }
  if (!options_.exec_transport.empty()) {
    std::vector<std::string> argv = options_.exec_transport;
    for (std::string& word : argv) {
      const size_t at = word.find("{host}");
      if (at != std::string::npos) word.replace(at, 6, host);
    }
    return std::make_unique<ProcessTransport>(
        loop_, reaper_, host, std::move(argv), current_environment());
  }
  SshTransportOptions ssh;
  ssh.host = host;
  ssh.port = discovery_.contract.ssh_port;
  // Where nothing names the port, every third attempt tries the other usual.
  if (discovery_.contract.try_port_22 &&
      fleet_->dialer(node).attempts() % 3 == 0) {
    ssh.port = 22;
  }
  ssh.user = login_name(options_);
  ssh.keys = &*discovery_.keys;
  return std::make_unique<SshTransport>(loop_, *resolver_, std::move(ssh));
}

void Launch::connect() {
  clock_.enter("connect");
  wire::Hello hello;
  hello.protocol_min = wire::kProtocolMin;
  hello.protocol_max = wire::kProtocol;
  hello.version = MUSTER_VERSION;
  hello.launch_id = launch_id_;
  hello.job = discovery_.keys ? discovery_.keys->fingerprint : launch_id_;
  hello.incarnation = launcher_incarnation(discovery_.hostname);
  hello.heartbeat_ms = static_cast<int>(options_.timeouts.heartbeat_ms);
  hello.silence_ms = static_cast<int>(options_.timeouts.silence_ms);
  hello.grace_ms = static_cast<int>(options_.timeouts.grace_ms);
  FleetEvents events;
  events.on_ready = [this] {
    ready_ns_ = realtime_ns();
    inspect();
  };
  events.on_failed = [this](std::vector<Laggard> laggards, bool permanent) {
    laggards_ = std::move(laggards);
    fail(Error{permanent ? laggards_[0].error.code : "workers_not_ready",
               std::to_string(laggards_.size()) + " of " +
                   std::to_string(discovery_.hosts.size()) +
                   " workers are not ready",
               laggards_text(laggards_, 8), {},
               likely_cause(laggards_[0].error)});
  };
  events.on_frame = [this](uint16_t node, wire::Frame frame) {
    on_frame(node, std::move(frame));
  };
  events.on_lost = [this](uint16_t node, Error error) {
    on_lost(node, std::move(error));
  };
  resolver_ = std::make_unique<Resolver>(loop_, ResolverOptions{});
  fleet_ = std::make_unique<Fleet>(loop_, hello, fleet_nodes(),
                                   std::move(events));
  survey_ = std::make_unique<Survey>(loop_, *fleet_);
  log::info("connecting to {} from {}",
            discovery_.hosts.size() == 1
                ? "1 host"
                : std::to_string(discovery_.hosts.size()) + " hosts",
            discovery_.hosts_source);
  fleet_->start(Milliseconds{options_.timeouts.connect_ms});
  write_status();
}

JobStatus Launch::status() const {
  JobStatus out;
  out.launch_id = launch_id_;
  out.phase = clock_.current();
  out.bootstrap =
      agreement_.bootstrap == Bootstrap::kMpirun ? "mpirun" : "pmix";
  out.command = join(options_.command, " ");
  out.started_ns = started_ns_;
  out.written_ns = realtime_ns();
  out.phase_started_ns = out.written_ns - clock_.elapsed().count() * 1'000'000;
  out.lines = output_->lines();
  out.dropped_lines = output_->dropped_lines();
  out.lost_output_bytes = output_->dropped_bytes();
  out.stalled_ms = output_->stalled().count();
  if (fleet_) out.workers = worker_status(*fleet_, node_of_host_, memory_);
  if (run_) out.ranks = rank_status(run_->ranks());
  return out;
}

// For `muster status` and `muster ps` in another shell of this pod.
void Launch::write_status() {
  static_cast<void>(write_file_atomically(directory_.path() + "/status.json",
                                          to_json(status())));
  status_timer_.start(kStatusInterval, [this] { write_status(); });
}

void Launch::inspect() {
  clock_.enter("inspect");
  log::info("{} of {} workers ready after {}", discovery_.hosts.size(),
            discovery_.hosts.size(),
            human_duration_ms((ready_ns_ - started_ns_) / 1'000'000));
  survey_->start(
      kFactsDeadline,
      [this](uint16_t node) {
        fleet_->send(node, wire::FrameType::kFactsRequest, 0,
                     discovery_.mpirun);
      },
      [this](const Survey::Answers& answers) { agree_on_plan(answers); });
}

void Launch::agree_on_plan(const Survey::Answers& answers) {
  clock_.enter("agree");
  Inspected inspected = read_facts(*fleet_, answers);
  findings_ = std::move(inspected.findings);
  facts_ = std::move(inspected.facts);
  AgreementInput input;
  input.options = &options_;
  input.discovery = &discovery_;
  input.node_of_host = node_of_host_;
  input.agent = agent_;
  input.run_directory = directory_.path();
  for (size_t i = 0; i < facts_.size(); ++i) {
    const WorkerDialer& dialer = fleet_->dialer(static_cast<uint16_t>(i));
    const AgentLink* link = dialer.link();
    input.nodes.push_back(
        {dialer.host(), facts_[i],
         link != nullptr ? link->transport().peer_address() : ""});
    if (input.interface.empty() && link != nullptr) {
      input.interface =
          interface_of(facts_[0], link->transport().local_address());
    }
  }
  if (!options_.site_file.empty()) {
    const auto site = read_file(options_.site_file, 1 << 16);
    if (!site) {
      fail(site.error());
      return;
    }
    input.site_text = *site;
    input.site_path = options_.site_file;
  }
  auto agreement = agree(input);
  if (!agreement) {
    fail(agreement.error());
    return;
  }
  agreement_ = std::move(*agreement);
  findings_.insert(findings_.end(), agreement_.findings.begin(),
                   agreement_.findings.end());
  if (!agreement_.fabric.summary.empty()) {
    log::info("{}", agreement_.fabric.summary);
  }
  for (const Finding& finding : findings_) {
    log::write(finding.severity == Severity::kInfo ? log::Level::kInfo
                                                   : log::Level::kWarn,
               finding.text + (finding.remedy.empty()
                                   ? ""
                                   : ". What to do: " + finding.remedy));
  }
  if (options_.explain_env) print_environment(agreement_, *fleet_);
  if (options_.dry_run) {
    print_plan(agreement_, discovery_, facts_, options_.json);
    leave();
    return;
  }
  prove();
}

void Launch::prove() {
  clock_.enter("prove");
  if (!options_.prove || options_.local || fleet_->size() < 2) {
    spawn();
    return;
  }
  survey_->start(
      kListenDeadline,
      [this](uint16_t node) {
        wire::ProbeRequest request;
        request.listen = true;
        fleet_->send(node, wire::FrameType::kProbe, 0, wire::to_json(request));
      },
      [this](const Survey::Answers& answers) { prove_reach(answers); });
}

void Launch::prove_reach(const Survey::Answers& ports) {
  std::map<uint16_t, int> listening;
  for (const auto& [node, payload] : ports) {
    const auto reply = wire::from_json<wire::ProbeReply>(payload);
    if (reply && reply->listen_port > 0) listening[node] = reply->listen_port;
  }
  reach_tests_ = plan_reach_tests(*fleet_, listening);
  survey_->start(
      kProbeDeadline,
      [this](uint16_t node) {
        wire::ProbeRequest request;
        for (const ReachTest& test : reach_tests_) {
          if (test.from == node) {
            request.targets.push_back({test.address, test.port});
          }
        }
        fleet_->send(node, wire::FrameType::kProbe, 0, wire::to_json(request));
      },
      [this](const Survey::Answers& answers) {
        const auto findings = read_reach(*fleet_, reach_tests_, answers);
        findings_.insert(findings_.end(), findings.begin(), findings.end());
        if (findings.empty()) {
          spawn();
          return;
        }
        const Finding& first = findings[0];
        fail(Error{first.code, first.text, first.evidence, {}, first.remedy});
      });
}

void Launch::spawn() {
  clock_.enter("run");
  RunOptions run;
  run.timeouts = options_.timeouts;
  run.expected_ranks = agreement_.expected_ranks;
  run.has_tool = agreement_.bootstrap == Bootstrap::kMpirun;
  run.check_start = !options_.once;
  for (const uint16_t node : node_of_host_) run.rank_nodes.insert(node);
  run_ = std::make_unique<JobRun>(loop_, *fleet_, *output_, std::move(run),
                                  [this] { drained(); });
  if (options_.stdin_mode != StdinMode::kNone) {
    stdin_ = std::make_unique<StdinPump>(
        loop_, STDIN_FILENO,
        [this](ProcessKey key, std::string_view bytes) {
          fleet_->send(key.node, wire::FrameType::kStdin, key.id, bytes);
        },
        [this](ProcessKey key) {
          fleet_->send(key.node, wire::FrameType::kStdinEof, key.id);
        });
  }
  const bool mpirun = agreement_.bootstrap == Bootstrap::kMpirun;
  if (mpirun) {
    if (auto written = write_mpirun_files(); !written) {
      fail(written.error());
      return;
    }
    for (const std::string& words : agreement_.dropped) {
      log::info("{} is replaced by muster's own", words);
    }
  }
  log::info("starting {}{} ({}: {})",
            agreement_.expected_ranks < 0
                ? "the command"
                : std::to_string(agreement_.expected_ranks) + " ranks",
            mpirun ? " through mpirun" : "",
            mpirun ? "mpirun" : "native", agreement_.bootstrap_reason);
  run_->start(
      [this, mpirun](BackendEvents events) {
        return mpirun ? make_mpirun(std::move(events))
                      : make_native(std::move(events));
      },
      stdin_.get());
}

Status Launch::write_mpirun_files() {
  for (size_t node = 0; options_.local && node < fleet_->size(); ++node) {
    const std::string place = local_node_directory(directory_.path(), node);
    if (::mkdir(place.c_str(), 0700) != 0) {
      return fail_errno("no_writable_dir", "cannot make a directory", place);
    }
  }
  const std::string hostfile = directory_.path() + "/hostfile";
  if (auto written = write_file_atomically(hostfile, agreement_.hostfile_text);
      !written || !options_.once) {
    return written;
  }
  const ScriptSession session{hostfile, agreement_.mpi.launcher,
                              agreement_.mpi.options, agreement_.mpi.wrapper};
  return write_file_atomically(
      directory_.path() + "/" + kScriptSessionFile, to_json(session));
}

std::unique_ptr<Backend> Launch::make_native(BackendEvents events) {
  NativeJob job;
  job.ranks = native_ranks(agreement_, node_of_host_, options_);
  job.stdin_mode = options_.stdin_mode;
  job.map = job_map(agreement_, launch_id_, new_launch_id(),
                    options_.local.has_value());
  job.fleet_nodes = node_of_host_;
  job.start_deadline = Milliseconds{options_.timeouts.start_ms};
  return std::make_unique<NativeBackend>(loop_, *fleet_, std::move(job),
                                         std::move(events));
}

std::unique_ptr<Backend> Launch::make_mpirun(BackendEvents events) {
  std::string path = drop_in_directory();
  if (const std::string* own = find_env(discovery_.env, "PATH")) {
    path += (path.empty() ? "" : ":") + *own;
  }
  return std::make_unique<MpirunBackend>(
      loop_, *fleet_,
      mpirun_plan(agreement_, node_of_host_, options_, directory_.path(), path),
      std::move(events));
}

void Launch::on_frame(uint16_t node, wire::Frame frame) {
  if (frame.type == wire::FrameType::kHeartbeat) {
    const auto sample = wire::from_json<wire::HealthSample>(frame.payload);
    if (!sample) return;
    auto& samples = memory_[node];
    // The first one is the baseline and stays.
    if (samples.size() >= kMemorySamples) samples.erase(samples.begin() + 1);
    samples.push_back({realtime_ns(), sample->memory_bytes,
                       sample->memory_limit, sample->memory_peak,
                       sample->oom_kills});
    return;
  }
  if (survey_->running() && (frame.type == wire::FrameType::kFacts ||
                             frame.type == wire::FrameType::kProbeReply)) {
    survey_->answer(node, std::move(frame.payload));
    return;
  }
  if (run_) run_->frame(node, frame);
}

void Launch::on_lost(uint16_t node, Error error) {
  if (leaving_) {
    if (fleet_->ready_count() == 0) loop_.stop();
    return;
  }
  lost_[node] = error;
  lost_ns_[node] = realtime_ns();
  log::error("{}", error.text());
  if (run_) {
    run_->node_lost(node, error);
    return;
  }
  survey_->node_lost(node);
  fail(Error{"worker_lost", "a worker was lost before ranks were started",
             error.text(), {}, error.hint});
}

void Launch::on_signal(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGUSR1 || signal == SIGUSR2) {
    if (run_) run_->signal_ranks(signal);
    return;
  }
  const bool again = stop_signal_ != 0;
  if (!again) {
    stop_signal_ = signal;
    // The kubelet is outside of our pid namespace: its pid reads 0 here.
    preempted_ = signal == SIGTERM && info.ssi_pid == 0;
  }
  const std::string name = signal == SIGINT ? "SIGINT" : "SIGTERM";
  if (run_) {
    run_->stop(StopCause::kSignal,
               name + (preempted_ ? " from outside the pod" : " came"), again);
  } else if (!leaving_) {
    fail(Error{"stopped", "stopped before ranks were started", name + " came",
               {}, {}});
  } else if (again) {
    loop_.stop();
  }
}

void Launch::fail(const Error& error) {
  if (leaving_) return;
  leaving_ = true;
  failure_ = error;
  if (fleet_) fleet_->stop_connecting();
  report();
}

void Launch::drained() {
  clock_.enter("drain");
  output_->drain(kDrainLimit);
  leaving_ = true;
  report();
}

void Launch::report() {
  clock_.leave();
  LaunchReport report;
  report.launch_id = launch_id_;
  report.bootstrap =
      agreement_.bootstrap == Bootstrap::kMpirun ? "mpirun" : "pmix";
  report.started_ns = started_ns_;
  report.ended_ns = realtime_ns();
  report.phases = clock_.phases();
  report.evidence = evidence();
  report.verdict = diagnose(report.evidence);
  report.exit_code = report.verdict.exit_code;
  fill_workers(report);
  if (output_) {
    report.lines = output_->lines();
    report.lost_output_bytes = output_->dropped_bytes();
  }
  if (run_ && run_->first_rank_ns() > 0) {
    report.first_rank_ms = (run_->first_rank_ns() - ready_ns_) / 1'000'000;
    if (run_->all_ranks_ns() > 0) {
      report.all_ranks_ms = (run_->all_ranks_ns() - ready_ns_) / 1'000'000;
    }
  }
  exit_code_ = publish(report, options_);
  leave();
}

void Launch::fill_workers(LaunchReport& report) const {
  if (!fleet_) return;
  for (const NodeEvidence& node : report.evidence.nodes) {
    const bool is_host = std::find(node_of_host_.begin(), node_of_host_.end(),
                                   node.node) != node_of_host_.end();
    if (!is_host) continue;
    const WorkerDialer& dialer =
        fleet_->dialer(static_cast<uint16_t>(node.node));
    WorkerReport worker;
    worker.name = node.host;
    worker.state = node.outcome == NodeOutcome::kConnected    ? "ready"
                   : node.outcome == NodeOutcome::kNeverReady ? "not_ready"
                                                              : "lost";
    if (node.outcome != NodeOutcome::kConnected) {
      worker.reason = node.error.text();
      worker.step = node.step;
    }
    if (dialer.connect_time().count() > 0) {
      worker.connect_ms = dialer.connect_time().count();
    }
    report.workers.push_back(std::move(worker));
  }
}

Evidence Launch::evidence() const {
  Evidence out;
  JobEvidence& job = out.job;
  job.phase = clock_.current();
  job.backend = agreement_.bootstrap == Bootstrap::kMpirun ? "mpirun" : "pmix";
  if (options_.once) job.backend = "once";
  job.argv = options_.command;
  job.world_size = agreement_.expected_ranks;
  job.workers = static_cast<int>(discovery_.hosts.size());
  job.interrupted = stop_signal_ != 0 && !preempted_;
  job.preempted = preempted_;
  job.connect_deadline_ms = options_.timeouts.connect_ms;
  job.start_deadline_ms = options_.timeouts.start_ms;
  job.time_limit_ms = options_.timeouts.run_ms;
  out.findings = findings_;
  if (run_) {
    add_run(*run_, *output_, job);
    out.ranks = rank_evidence(*run_, *output_, agreement_.expected_ranks);
    if (run_->stop_cause() == StopCause::kPlacement) {
      out.findings.push_back({Severity::kError, "world_size_mismatch",
                              run_->stop_reason(), "", ""});
    }
    if (const Error& broken = run_->world_error(); !broken.code.empty()) {
      out.findings.push_back({Severity::kError, broken.code, broken.what,
                              broken.why, broken.hint});
    }
    if (run_->stop_cause() == StopCause::kBackendFailed) {
      out.findings.push_back({Severity::kError, "mpirun_failed",
                              run_->stop_reason(), "", ""});
    }
  }
  if (failure_ && laggards_.empty() && lost_.empty() && stop_signal_ == 0) {
    out.findings.push_back({Severity::kError, failure_->code,
                            (failure_->where.empty() ? ""
                                                     : failure_->where + ": ") +
                                failure_->what,
                            failure_->why, failure_->hint});
  }
  if (fleet_) {
    out.nodes =
        node_evidence(*fleet_, {memory_, lost_, lost_ns_, laggards_});
  }
  return out;
}

void Launch::leave() {
  leaving_ = true;
  if (!fleet_) {
    loop_.stop();
    return;
  }
  fleet_->send_all(wire::FrameType::kBye,
                   wire::to_json(wire::ByeMessage{
                       exit_code_ == 0 && !options_.dry_run}));
  leave_timer_.start(kLeaveDeadline, [this] { loop_.stop(); });
  if (fleet_->ready_count() == 0) loop_.stop();
}

}  // namespace muster
