// SPDX-License-Identifier: Apache-2.0
#include "launcher/nested_mpirun.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "launcher/options.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash",
                                                     "zsh", "ksh"};
constexpr std::array<std::string_view, 10> kWrappers = {
    "env",     "exec",    "time",   "timeout", "nice",
    "numactl", "taskset", "stdbuf", "nohup",   "sudo"};

template <class Names>
bool is_one(const Names& names, std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string first_mpirun(const std::vector<std::string>& words) {
  const auto found = std::find_if(words.begin(), words.end(), is_mpirun_name);
  return found != words.end() ? *found : "";
}

}  // namespace

std::string nested_mpirun(const std::vector<std::string>& command) {
  if (is_one(kWrappers, command[0])) return first_mpirun(command);
  if (!is_one(kShells, command[0])) return "";
  for (size_t i = 1; i + 1 < command.size(); ++i) {
    const std::string& option = command[i];
    if (!option.starts_with('-') || option.starts_with("--")) continue;
    if (!option.ends_with('c')) continue;  // -c, -lc, -ec
    std::vector<std::string> words;
    for (const auto word : split_words(command[i + 1]))
      words.emplace_back(word);
    return first_mpirun(words);
  }
  return "";
}

}  // namespace muster
