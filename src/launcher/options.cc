// SPDX-License-Identifier: Apache-2.0
#include "launcher/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "base/usage_sentence.h"
#include "launcher/log_choice.h"

namespace muster {

namespace {

constexpr int kUsageExit = 2;

// The options as text, before they are checked.
struct RawOptions {
  std::vector<std::string> env;
  std::string local;
  std::string transport = "ssh";
  std::string bootstrap = "auto";
  std::string stdin_mode = "0";
  std::string connect_timeout;
  std::string start_timeout;
  std::string timeout;
  std::string heartbeat;
  std::string silence;
  std::string grace;
  std::string output = "text";
  std::string overflow = "block";
  std::string hang_timeout;
  std::string hang_action = "warn";
  std::string hang_signal;
  std::string timeout_action = "stop";
  std::string timeout_signal;
  std::string hold;
  int np = 0;
};

void add_placement(CLI::App& app, LaunchOptions& o, RawOptions& raw) {
  app.add_option("-n,--np", raw.np, "ranks to start (default: every slot)")
      ->check(CLI::Range(1, kMaxRanks));
  app.add_option("--hostfile", o.hostfile,
                 "hostfile of any MPI (default: the operator's)")
      ->envname("MUSTER_HOSTFILE");
  app.add_option("-H,--host,--hosts", o.hosts, "hosts, as in a:2,b:2");
  app.add_option("--slots-per-node", o.slots_per_node,
                 "slots of every worker (default: hostfile, GPUs, CPU quota)")
      ->check(CLI::Range(1, kMaxSlots))
      ->envname("MUSTER_SLOTS_PER_NODE");
  app.add_option("--map-by", o.map_by, "slot, node or ppr:N:node");
  app.add_option("--bind-to", o.bind_to,
                 "CPUs of a rank: none (default), core, core:N, numa, gpu "
                 "(near its GPU)")
      ->envname("MUSTER_BIND_TO");
  app.add_option("--gpu-bind", o.gpu_bind,
                 "GPUs that a rank sees: none (default: all), single, closest")
      ->check(CLI::IsMember({"none", "single", "closest"}))
      ->envname("MUSTER_GPU_BIND");
  app.add_flag("--display-map", o.display_map,
               "print where each rank goes, before it starts");
  app.add_flag("--oversubscribe", o.oversubscribe,
               "more ranks than slots are fine");
  app.add_option("-x,--env", raw.env, "NAME or NAME=VALUE for every rank")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--wdir", o.cwd, "working directory of the ranks");
  app.add_flag("--mpi", o.mpi,
               "the program uses MPI, though the line does "
               "not say so");
  app.add_option("--local", raw.local,
                 "NxM: emulate N nodes with M slots on this machine");
}

void add_start(CLI::App& app, LaunchOptions& o, RawOptions& raw) {
  app.add_option("--bootstrap", raw.bootstrap,
                 "who starts the ranks: pmix (muster), mpirun, auto")
      ->check(CLI::IsMember({"auto", "pmix", "mpirun"}))
      ->envname("MUSTER_BOOTSTRAP");
  app.add_flag("--once", o.once,
               "run the command once in the launcher; mpirun inside is ours");
  app.add_option("--transport", raw.transport,
                 "how to reach an agent: ssh, or exec:COMMAND with {host}")
      ->envname("MUSTER_TRANSPORT");
  app.add_option("--key-dir", o.key_dir, "directory with the job's ssh key")
      ->envname("MUSTER_KEY_DIR");
  app.add_option("--ssh-port", o.ssh_port, "port of the workers")
      ->check(CLI::Range(1, 65535))
      ->envname("MUSTER_SSH_PORT");
  app.add_option("--ssh-user", o.ssh_user, "login name for the workers")
      ->envname("MUSTER_SSH_USER");
  app.add_option("--profile", o.profile,
                 "network profile: auto, tcp, rdma, "
                 "rl (ppo, grpo, gapo)")
      ->envname("MUSTER_PROFILE");
  app.add_option("--site", o.site_file,
                 "values of the network that nobody can detect")
      ->envname("MUSTER_FABRIC_SITE");
  app.add_flag("--allow-skew", o.allow_skew,
               "start although the pods' software differs");
  app.add_flag("!--no-prove", o.prove, "skip the reachability check");
  app.add_flag("--dry-run", o.dry_run,
               "stop before starting ranks and print "
               "the plan");
  app.add_flag("--explain-env", o.explain_env,
               "print where each variable of the ranks comes from");
  app.add_option("-o,--output", raw.output, "of --dry-run: text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void add_bounds(CLI::App& app, RawOptions& raw) {
  app.add_option("--connect-timeout", raw.connect_timeout,
                 "until all workers are ready (default 300s)")
      ->envname("MUSTER_CONNECT_TIMEOUT");
  app.add_option("--start-timeout", raw.start_timeout,
                 "from start to MPI_Init of every rank (default 60s)")
      ->envname("MUSTER_START_TIMEOUT");
  app.add_option("--timeout", raw.timeout, "time limit of the job, as 72h")
      ->envname("MUSTER_TIMEOUT");
  app.add_option("--timeout-action", raw.timeout_action,
                 "at the limit: stop, or warn and go on")
      ->check(CLI::IsMember({"stop", "warn"}));
  app.add_option("--timeout-signal", raw.timeout_signal,
                 "ranks get it at the limit, and --grace to save and end")
      ->envname("MUSTER_TIMEOUT_SIGNAL");
  app.add_option("--hang-timeout", raw.hang_timeout,
                 "no output of any rank for so long: say where all ranks are")
      ->envname("MUSTER_HANG_TIMEOUT");
  app.add_option("--hang-action", raw.hang_action,
                 "then: warn and go on, or stop the job")
      ->check(CLI::IsMember({"warn", "stop"}));
  app.add_option("--hang-signal", raw.hang_signal,
                 "ranks get it then too, as for Python's faulthandler");
  app.add_option("--heartbeat", raw.heartbeat, "default 2s")
      ->envname("MUSTER_HEARTBEAT");
  app.add_option("--silence", raw.silence,
                 "a worker silent for so long is lost (default 12s)")
      ->envname("MUSTER_SILENCE");
  app.add_option("--grace", raw.grace, "between TERM and KILL (default 5s)")
      ->envname("MUSTER_GRACE");
}

void add_output(CLI::App& app, LaunchOptions& o, RawOptions& raw) {
  app.add_option("--stdin", raw.stdin_mode, "who reads stdin: 0, all, none")
      ->check(CLI::IsMember({"0", "all", "none"}));
  app.add_option("--log-format", o.log_format, "auto, text, plain, json")
      ->check(CLI::IsMember({"auto", "text", "plain", "json"}))
      ->envname("MUSTER_LOG_FORMAT");
  app.add_option("--log-dir", o.log_directory,
                 "also write one file per rank and stream there")
      ->envname("MUSTER_LOG_DIR");
  app.add_option("--log-rotate", o.log_rotate,
                 "SIZE[,OLDER] of those files, or off (default 1G,8)")
      ->envname("MUSTER_LOG_ROTATE");
  app.add_option("--log-level", o.log_level, "debug, info, warn, error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->envname("MUSTER_LOG_LEVEL");
  app.add_option("--rank-level", o.rank_level,
                 "least level of ranks' lines on stdout")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}))
      ->envname("MUSTER_RANK_LEVEL");
  app.add_option("--log-ranks", o.log_ranks, "ranks on stdout, as 0-3,8")
      ->envname("MUSTER_LOG_RANKS");
  app.add_option("--log-overflow", raw.overflow,
                 "a reader of stdout too slow: block (ranks wait) or drop")
      ->check(CLI::IsMember({"block", "drop"}))
      ->envname("MUSTER_LOG_OVERFLOW");
  app.add_option("--log-fold", o.fold,
                 "text: equal lines of ranks as one (auto: on a terminal)")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->envname("MUSTER_LOG_FOLD");
  app.add_option("--rules", o.rules_directory,
                 "a directory with further *.rules for the verdict")
      ->envname("MUSTER_RULES");
  app.add_option("--bundle", o.bundle_directory,
                 "keep report, evidence and verdict of each launch there")
      ->envname("MUSTER_BUNDLE");
  app.add_option("--hold-on-failure", raw.hold,
                 "keep the pods up for so long after a failure")
      ->envname("MUSTER_HOLD_ON_FAILURE");
  app.add_flag("!--no-mask", o.mask, "do not hide secrets in ranks' lines");
  app.add_option("--mask", o.mask_patterns, "hide also what this RE2 matches")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--report", o.report_html,
                 "write a page for people there (FILE.html)")
      ->envname("MUSTER_REPORT");
  app.add_option("--report-json", o.report_json, "write the report there")
      ->envname("MUSTER_REPORT_JSON");
  app.add_flag("!--no-post-progress", o.post_progress,
               "tell Kubeflow Trainer nothing of the ranks' progress");
  app.add_option("--metrics-port", o.metrics_port,
                 "serve Prometheus metrics on this port")
      ->check(CLI::Range(1, 65535))
      ->envname("MUSTER_METRICS_PORT");
  app.add_option("--mesh", o.mesh,
                 "wait for this pod's mesh proxy, and end it with the job")
      ->check(CLI::IsMember({"none", "istio", "linkerd"}))
      ->envname("MUSTER_MESH");
  app.add_option("--termination-log", o.termination_log,
                 "the pod's termination message")
      ->envname("MUSTER_TERMINATION_LOG");
}

Status set_duration(const std::string& text, const char* option,
                    int64_t& milliseconds) {
  if (text.empty()) return {};
  const auto value = parse_duration_ms(text);
  if (!value || *value <= 0) {
    return fail(Error{"usage",
                      std::string("bad value of ") + option,
                      "'" + text + "' is not a time",
                      {},
                      "Write it as 90s, 15m, 2h or 1h30m."});
  }
  milliseconds = *value;
  return {};
}

// "USR1", "SIGUSR1" or a number.
std::optional<int> signal_number(std::string_view text) {
  if (const auto number = parse_integer(text)) {
    if (*number < 1 || *number > 64) return std::nullopt;
    return static_cast<int>(*number);
  }
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (int number = 1; number < 32; ++number) {
    const char* const name = ::sigabbrev_np(number);
    if (name != nullptr && text == name) return number;
  }
  return std::nullopt;
}

Status set_signal(const std::string& text, const char* option, int& number) {
  if (text.empty()) return {};
  const auto known = signal_number(text);
  if (!known) {
    return fail(Error{"usage",
                      std::string("bad value of ") + option,
                      "'" + text + "' is no signal",
                      {},
                      "As in USR1 or SIGUSR1."});
  }
  number = *known;
  return {};
}

Status check_watching(const RawOptions& raw, LaunchOptions& o) {
  o.hang_stop = raw.hang_action == "stop";
  o.warn_at_limit = raw.timeout_action == "warn";
  if (auto set = set_signal(raw.hang_signal, "--hang-signal", o.hang_signal);
      !set) {
    return set;
  }
  if (auto set = set_signal(raw.timeout_signal, "--timeout-signal",
                            o.checkpoint_signal);
      !set) {
    return set;
  }
  if (auto set = set_duration(raw.hold, "--hold-on-failure", o.hold_ms); !set) {
    return set;
  }
  return set_duration(raw.hang_timeout, "--hang-timeout", o.hang_ms);
}

Status check_durations(const RawOptions& raw, Timeouts& t) {
  const std::pair<const std::string*, std::pair<const char*, int64_t*>> all[] =
      {{&raw.connect_timeout, {"--connect-timeout", &t.connect_ms}},
       {&raw.start_timeout, {"--start-timeout", &t.start_ms}},
       {&raw.timeout, {"--timeout", &t.run_ms}},
       {&raw.heartbeat, {"--heartbeat", &t.heartbeat_ms}},
       {&raw.silence, {"--silence", &t.silence_ms}},
       {&raw.grace, {"--grace", &t.grace_ms}}};
  for (const auto& [text, target] : all) {
    if (auto set = set_duration(*text, target.first, *target.second); !set) {
      return set;
    }
  }
  if (t.silence_ms < 2 * t.heartbeat_ms) {
    return fail(Error{"usage",
                      "--silence is too short",
                      "it must be at least twice --heartbeat",
                      {},
                      {}});
  }
  return {};
}

Status check(const RawOptions& raw, LaunchOptions& o) {
  if (raw.np > 0) o.np = raw.np;
  if (auto times = check_durations(raw, o.timeouts); !times) return times;
  if (auto watching = check_watching(raw, o); !watching) return watching;
  if (!raw.local.empty()) {
    auto shape = parse_local_shape(raw.local);
    if (!shape) return fail(shape.error());
    o.local = *shape;
  }
  o.bootstrap = raw.bootstrap == "pmix"     ? Bootstrap::kPmix
                : raw.bootstrap == "mpirun" ? Bootstrap::kMpirun
                                            : Bootstrap::kAuto;
  o.stdin_mode = raw.stdin_mode == "all"    ? StdinMode::kAll
                 : raw.stdin_mode == "none" ? StdinMode::kNone
                                            : StdinMode::kRankZero;
  o.json = raw.output == "json";
  o.log_drop = raw.overflow == "drop";
  for (const std::string& word : raw.env) {
    const size_t equals = word.find('=');
    EnvRequest request{word.substr(0, equals), {}};
    if (equals != std::string::npos) request.value = word.substr(equals + 1);
    if (request.name.empty()) {
      return fail(Error{"usage",
                        "bad value of -x",
                        "'" + word + "' has no name",
                        {},
                        "Write -x NAME or -x NAME=VALUE."});
    }
    o.env.push_back(std::move(request));
  }
  if (auto ranks = parse_rank_set(o.log_ranks); !ranks) {
    return fail(ranks.error());
  }
  if (auto rotation = parse_rotation(o.log_rotate); !rotation) {
    return fail(rotation.error());
  }
  if (raw.transport.starts_with("exec:")) {
    for (const auto word :
         split_words(std::string_view(raw.transport).substr(5))) {
      o.exec_transport.emplace_back(word);
    }
  }
  if (raw.transport != "ssh" && o.exec_transport.empty()) {
    return fail(Error{"usage",
                      "bad value of --transport",
                      "'" + raw.transport + "' is neither ssh nor exec:COMMAND",
                      {},
                      "As in --transport 'exec:kubectl exec -i {host} -- "
                      "/opt/muster/libexec/muster/muster-agent agent'."});
  }
  return {};
}

// "-np 4" and "-hostfile f" as mpirun has them: CLI11 wants two dashes, and
// would take the latter for -h. Stops at the program.
std::vector<std::string> spell_long(const CLI::App& app,
                                    std::vector<std::string> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    std::string& word = args[i];
    if (word == "--" || word.size() < 2 || word[0] != '-') break;
    if (word.size() > 2 && word[1] != '-' &&
        app.get_option_no_throw("-" + word.substr(0, word.find('='))) !=
            nullptr) {
      word.insert(0, 1, '-');
    }
    const CLI::Option* option = app.get_option_no_throw(word);
    if (option != nullptr && option->get_items_expected_min() > 0) ++i;
  }
  return args;
}

void print_unknown(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  const auto hint = nearest(word.substr(0, word.find('=')), names);
  std::fprintf(stderr, "muster launch: unknown option %s.%s\n", word.c_str(),
               hint ? (" Did you mean " + *hint + "?").c_str()
                    : " See muster launch --help.");
}

const char* const kFooter =
    "Examples:\n"
    "  muster launch -n 16 -- python train.py\n"
    "  muster launch -- mpirun -np 16 -x NCCL_DEBUG=INFO python train.py\n"
    "  muster launch --local 2x4 -- ./app\n"
    "Exit codes: the first failing rank's own; 128+N killed by signal N; "
    "100-109\npermanent, 200-209 worth a retry: muster explain CODE.";

}  // namespace

Result<LocalShape> parse_local_shape(const std::string& text) {
  const auto parts = split(text, 'x');
  const auto nodes = parse_integer(parts[0]);
  const auto slots = parts.size() == 2 ? parse_integer(parts[1]) : std::nullopt;
  if (!nodes || !slots || *nodes < 1 || *nodes > 512 || *slots < 1 ||
      *slots > 1024) {
    return fail(Error{"usage",
                      "bad value of --local",
                      "'" + text + "' is not NODESxSLOTS",
                      {},
                      "As in --local 2x4, at most 512x1024."});
  }
  return LocalShape{static_cast<int>(*nodes), static_cast<int>(*slots)};
}

bool is_mpirun_name(const std::string& program) {
  static const std::vector<std::string> kNames = {
      "mpirun",        "mpiexec",        "orterun",         "prterun",
      "mpiexec.hydra", "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich",
      "mpiexec.mpich", "mpirun_rsh",     "oshrun"};
  const std::string name = program.substr(program.rfind('/') + 1);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

ParsedOptions parse_launch_options(const std::vector<std::string>& args) {
  ParsedOptions parsed;
  LaunchOptions& o = parsed.options;
  RawOptions raw;
  CLI::App app("Starts an MPI job on the workers of this pod's job.",
               "muster launch");
  app.failure_message(usage_sentence);
  app.prefix_command();
  app.footer(kFooter);
  add_placement(app, o, raw);
  add_start(app, o, raw);
  add_bounds(app, raw);
  add_output(app, o, raw);
  std::vector<std::string> words = spell_long(app, args);
  std::reverse(words.begin(), words.end());  // as CLI11 wants it
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : kUsageExit;
    return parsed;
  }
  o.command = app.remaining();
  if (!o.command.empty() && o.command[0] == "--") {
    o.command.erase(o.command.begin());
  } else if (!o.command.empty() && o.command[0].starts_with("-")) {
    print_unknown(app, o.command[0]);
    parsed.exit_code = kUsageExit;
    return parsed;
  }
  o.is_line = !o.once && !o.command.empty() && is_mpirun_name(o.command[0]);
  if (auto checked = check(raw, o); !checked) {
    std::fprintf(stderr, "muster launch: %s\n", checked.error().text().c_str());
    parsed.exit_code = kUsageExit;
  } else if (o.command.empty()) {
    std::fprintf(stderr,
                 "muster launch: no program is given. As in: muster "
                 "launch -n 4 -- ./app\n");
    parsed.exit_code = kUsageExit;
  }
  return parsed;
}

}  // namespace muster
