// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/nested_launcher.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/text.h"
#include "launcher/options/options.h"

namespace muster {

namespace {

using Words = std::vector<std::string>;

constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash",
                                                     "zsh", "ksh"};
constexpr std::array<std::string_view, 10> kWrappers = {
    "env",     "exec",    "time",   "timeout", "nice",
    "numactl", "taskset", "stdbuf", "nohup",   "sudo"};
// Beside mpirun's names. Each starts a job of its own.
constexpr std::array<std::string_view, 4> kJobLaunchers = {
    "srun", "prun", "horovodrun", "deepspeed"};
constexpr std::array<std::string_view, 2> kTorchModules = {
    "torch.distributed.run", "torch.distributed.launch"};

struct Nested {
  std::string name;  // empty: none is to be seen
  bool per_pod = false;
};

std::string_view name_of(std::string_view program) {
  return program.substr(program.rfind('/') + 1);
}

template <class Names>
bool is_one(const Names& names, std::string_view word) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

Nested launcher_at(const Words& words, size_t i) {
  const std::string_view name = name_of(words[i]);
  if (is_mpirun_name(words[i]) || is_one(kJobLaunchers, name)) {
    return {words[i], false};
  }
  const std::string_view next =
      i + 1 < words.size() ? std::string_view(words[i + 1]) : "";
  if (name == "flux" && (next == "run" || next == "submit")) {
    return {"flux " + std::string(next), false};
  }
  if (name == "torchrun") return {words[i], true};
  if (words[i] == "-m" && is_one(kTorchModules, next)) {
    return {std::string(next), true};
  }
  if (name == "accelerate" && next == "launch") {
    return {"accelerate launch", true};
  }
  return {};
}

// May a program stand behind this word? Behind `--strategy` or `install` it is
// a value; a wrapper's own values are numbers and assignments.
bool leads_to_program(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kBefore = {
      "&&", "||", "|", "&", "(", "{", "do", "then", "else", "!"};
  return is_one(kBefore, word) || is_one(kWrappers, name_of(word)) ||
         word.ends_with(';') || word.find('=') != word.npos ||
         word.find_first_not_of("0123456789smhd.") == word.npos;
}

// Among the first `count` words.
Nested first_launcher(const Words& words, size_t count) {
  for (size_t i = 0; i < std::min(count, words.size()); ++i) {
    if (i > 0 && words[i] != "-m" && !leads_to_program(words[i - 1])) continue;
    if (Nested found = launcher_at(words, i); !found.name.empty()) return found;
  }
  return {};
}

Nested nested(const Words& command) {
  const std::string_view name = name_of(command[0]);
  if (is_one(kWrappers, name)) return first_launcher(command, command.size());
  if (is_one(kShells, name)) {
    for (size_t i = 1; i + 1 < command.size(); ++i) {
      const std::string& option = command[i];
      if (!option.starts_with('-') || option.starts_with("--")) continue;
      if (!option.ends_with('c')) continue;  // -c, -lc, -ec
      Words words;
      for (const auto word : split_words(command[i + 1]))
        words.emplace_back(word);
      return first_launcher(words, words.size());
    }
    return {};
  }
  // The words of any other program are its own, except `python -m`.
  size_t own = 1;
  while (name.starts_with("python") && own < command.size() &&
         command[own].starts_with('-')) {
    if (command[own++] == "-m") break;
  }
  return first_launcher(command, own);
}

// Most ranks of one program that a pod runs.
int most_in_a_pod(const Plan& plan, size_t app) {
  std::map<int, int> ranks;
  int most = 0;
  for (const PlannedRank& rank : plan.ranks) {
    if (static_cast<size_t>(rank.app) != app) continue;
    most = std::max(most, ++ranks[rank.node]);
  }
  return most;
}

}  // namespace

std::vector<Finding> nested_launchers(const std::vector<AppSpec>& apps,
                                      const Plan& plan) {
  std::vector<Finding> findings;
  for (size_t i = 0; i < apps.size(); ++i) {
    if (apps[i].argv.empty()) continue;
    const Nested found = nested(apps[i].argv);
    if (found.name.empty()) continue;
    const int most = most_in_a_pod(plan, i);
    if (found.per_pod && most < 2) continue;
    Finding finding{Severity::kWarning, "nested_launcher", "", "", ""};
    finding.text = "every rank will call " + found.name + ": ";
    if (found.per_pod) {
      finding.text += std::to_string(most) +
                      " times in one pod, each with processes of its own";
      finding.remedy =
          "start the program itself, once a GPU, and torch finds its variables "
          "set; or " +
          found.name + " once a pod (--map-by ppr:1:node)";
    } else {
      finding.text += "a job for each of them";
      finding.remedy =
          "call the program itself, or start the command once: "
          "`muster launch --once -- COMMAND`";
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace muster
