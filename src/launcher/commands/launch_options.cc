// SPDX-License-Identifier: Apache-2.0
#include "launcher/commands/launch_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>

#include "base/read_command_line.h"
#include "base/text.h"
#include "launcher/options/option_words.h"
#include "launcher/output/log_choice.h"
#include "launcher/plan/placement_words.h"
#include "launcher/report/verdict_event.h"
#include "logs/log_filter.h"

namespace muster {

namespace {

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
  // Longer is never: added to a clock of nanoseconds it would be at once.
  constexpr int64_t kCentury = int64_t{36'525} * 24 * 3600 * 1000;
  milliseconds = std::min(*value, kCentury);
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
                      "'" + text + "' is not a signal",
                      {},
                      "As in USR1 or SIGUSR1."});
  }
  number = *known;
  return {};
}

Status check_event(const LaunchOptions& o) {
  if (o.event == "off" || o.event == "auto") return {};
  const auto object = parse_event_object(o.event);
  return object ? Status{} : fail(object.error());
}

Status check_watching(const OptionWords& raw, LaunchOptions& o) {
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
  const std::string& exception = raw.exception_timeout;
  if (exception == "0" || parse_duration_ms(exception) == 0) {
    o.exception_ms = 0;
  } else if (auto set =
                 set_duration(exception, "--exception-timeout", o.exception_ms);
             !set) {
    return set;
  }
  return set_duration(raw.hang_timeout, "--hang-timeout", o.hang_ms);
}

Status check_durations(const OptionWords& raw, Timeouts& t) {
  struct Row {
    const std::string& text;
    const char* option;
    int64_t& value;
    int64_t longest;
  };
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  // In the form that agents get.
  constexpr int64_t kTold = std::numeric_limits<int32_t>::max();
  const Row all[] = {
      {raw.connect_timeout, "--connect-timeout", t.connect_ms, kAny},
      {raw.start_timeout, "--start-timeout", t.start_ms, kAny},
      {raw.timeout, "--timeout", t.run_ms, kAny},
      {raw.heartbeat, "--heartbeat", t.heartbeat_ms, kTold},
      {raw.silence, "--silence", t.silence_ms, kTold},
      {raw.grace, "--grace", t.grace_ms, kTold}};
  for (const Row& row : all) {
    if (auto set = set_duration(row.text, row.option, row.value); !set) {
      return set;
    }
    if (row.value <= row.longest) continue;
    return fail(Error{"usage",
                      std::string("bad value of ") + row.option,
                      "'" + row.text + "' is too long",
                      {},
                      "24d is the most."});
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

// "2x4".
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

// Times, signals, numbers and names out of words.
Status read_options(const OptionWords& raw, LaunchOptions& o) {
  if (raw.np > 0) o.np = raw.np;
  if (auto times = check_durations(raw, o.timeouts); !times) return times;
  if (auto watching = check_watching(raw, o); !watching) return watching;
  if (auto placement = check_placement(o); !placement) return placement;
  if (auto event = check_event(o); !event) return event;
  if (!raw.local.empty()) {
    auto shape = parse_local_shape(raw.local);
    if (!shape) return fail(shape.error());
    if (!o.hosts.empty()) {
      return fail(Error{"usage",
                        "--local and --hosts exclude each other",
                        "--local starts all ranks on this machine",
                        {},
                        "Leave one of them out."});
    }
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
  if (!o.log_ranks.empty() && !parse_rank_set(o.log_ranks)) {
    return fail(Error{"usage",
                      "bad value of --log-ranks",
                      "'" + o.log_ranks + "' is not a set of ranks",
                      {},
                      "As in --log-ranks 0-3,8."});
  }
  if (auto rotation = parse_rotation(o.log_rotate); !rotation) {
    return fail(rotation.error());
  }
  if (o.report_html == "-" || o.report_json == "-") {
    return fail(Error{"usage",
                      "bad value of --report",
                      "'-' is not a file, and stdout carries the ranks' lines",
                      {},
                      "As in --report report.html --report-json report.json."});
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
                      "As in `--transport 'exec:kubectl exec -i {pod} -n "
                      "NAMESPACE -- /opt/muster/libexec/muster/muster-agent "
                      "agent'`."});
  }
  return {};
}

constexpr int kUsageExit = 2;

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
                    : " See `muster launch --help`.");
}

// An option of ours behind the "--", or a variable that is not set.
bool no_program_name(const std::vector<std::string>& command) {
  if (command.empty()) return false;
  const std::string& name = command[0];
  if (trim(name).empty()) {
    std::fprintf(stderr,
                 "muster launch: the program's name is empty. Is a variable "
                 "not set?\n");
    return true;
  }
  if (!name.starts_with('-')) return false;
  std::fprintf(stderr,
               "muster launch: %s stands where the program is expected. "
               "Options come before --, as in: `muster launch -n 4 -- ./app`\n",
               name.c_str());
  return true;
}

const char* const kFooter =
    "Examples:\n"
    "  muster launch -n 16 -- python train.py\n"
    "  muster launch -- mpirun -np 16 -x NCCL_DEBUG=INFO python train.py\n"
    "  muster launch --local 2x4 -- ./app\n"
    "Exit codes: the first failing rank's own; 128+N killed by signal N; "
    "100-109\npermanent, 200-209 worth a retry: `muster explain CODE`.";

// Commands that build an mpirun line themselves: a copy of them in every rank
// would start as many jobs. As a script they run once, and their mpirun is
// ours.
bool builds_mpirun_lines(const std::vector<std::string>& command) {
  const std::string& program = command[0];
  const std::string name = program.substr(program.rfind('/') + 1);
  if (name == "deepspeed" || name == "horovodrun") return true;
  // Without that option it is torchrun.
  return name == "accelerate" &&
         std::any_of(command.begin(), command.end(), [](const auto& word) {
           return word.starts_with("--mpirun_hostfile");
         });
}

}  // namespace

ParsedOptions parse_launch_options(const std::vector<std::string>& args) {
  ParsedOptions parsed;
  LaunchOptions& o = parsed.options;
  OptionWords raw;
  CLI::App app("Starts an MPI job on the workers of this pod's job.",
               "muster launch");
  app.prefix_command();
  app.footer(kFooter);
  declare_options(app, o, raw);
  if (const auto code = read_command_line(app, spell_long(app, args))) {
    parsed.exit_code = *code;
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
  if (no_program_name(o.command)) {
    parsed.exit_code = kUsageExit;
    return parsed;
  }
  if (!o.command.empty()) {
    o.once = o.once || builds_mpirun_lines(o.command);
    o.is_line = !o.once && is_mpirun_name(o.command[0]);
  }
  if (auto checked = read_options(raw, o); !checked) {
    const std::string problem = checked.error().text();
    std::fprintf(stderr, "muster launch: %s%s\n", problem.c_str(),
                 set_by(app, problem).c_str());
    parsed.exit_code = kUsageExit;
  } else if (o.command.empty()) {
    std::fprintf(stderr,
                 "muster launch: no program is given. As in: `muster "
                 "launch -n 4 -- ./app`\n");
    parsed.exit_code = kUsageExit;
  }
  return parsed;
}

}  // namespace muster
