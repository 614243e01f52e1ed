// SPDX-License-Identifier: Apache-2.0
#include "launcher/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/read_command_line.h"
#include "base/text.h"
#include "launcher/option_words.h"

namespace muster {

namespace {

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
