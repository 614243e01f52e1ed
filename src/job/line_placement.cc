// SPDX-License-Identifier: Apache-2.0
#include "job/line_placement.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 10> kBindingOptions = {
    "bind-to",         "bind-to-core", "bind-to-socket", "binding",
    "cpu-list",        "cpu-set",      "cpus-per-proc",  "cpus-per-rank",
    "thread-affinity", "binding-args"};

// Of Open MPI 4 and 5, MPICH, Intel MPI and MVAPICH2.
constexpr std::array<std::string_view, 12> kBindingVariables = {
    "OMPI_MCA_hwloc_base_binding_policy",
    "OMPI_MCA_hwloc_base_cpu_list",
    "OMPI_MCA_rmaps_base_cpus_per_proc",
    "PRTE_MCA_hwloc_default_binding_policy",
    "PRTE_MCA_hwloc_default_cpu_list",
    "HYDRA_BINDING",
    "I_MPI_PIN",
    "I_MPI_PIN_DOMAIN",
    "I_MPI_PIN_PROCESSOR_LIST",
    "MV2_ENABLE_AFFINITY",
    "MV2_CPU_BINDING_POLICY",
    "MV2_CPU_MAPPING"};

std::string words_of(const MpirunLine& line, const LineOption& option) {
  std::string out = line.words[option.at];
  for (const std::string& value : option.values) out += " " + value;
  return out;
}

template <class Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool binds(const LineOption& option) {
  switch (option.meaning) {
    case OptionMeaning::kRankfile:
      return true;
    case OptionMeaning::kMapBy:  // "slot:PE=4" binds to four cores
      return to_lower(option.values[0]).find("pe=") != std::string::npos;
    case OptionMeaning::kParameter:
      return among(kBindingVariables, "OMPI_MCA_" + option.values[0]) ||
             among(kBindingVariables, "PRTE_MCA_" + option.values[0]);
    default:
      return among(kBindingOptions, option.name);
  }
}

bool maps(const LineOption& option) {
  switch (option.meaning) {
    case OptionMeaning::kRankfile:
    case OptionMeaning::kMapBy:
    case OptionMeaning::kPerNode:
    case OptionMeaning::kOnePerNode:
    case OptionMeaning::kByNode:
      return true;
    case OptionMeaning::kParameter:
      return option.values[0].starts_with("rmaps_");
    default:
      return option.name == "byslot" || option.name == "bycore" ||
             option.name == "npersocket" || option.name == "ppr" ||
             option.name == "rank-by";
  }
}

// A number per socket, core or an entry of a file; slots for each of PE=N CPUs.
bool counts(const LineOption& option) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "npersocket", "ppr", "cpus-per-proc", "cpus-per-rank", "nolocal"};
  switch (option.meaning) {
    case OptionMeaning::kRankfile:
      return true;
    case OptionMeaning::kMapBy: {
      const std::string what = to_lower(option.values[0]);
      if (what.starts_with("ppr:")) return what.find(":node") == what.npos;
      return what.find("pe=") != what.npos || what.starts_with("seq") ||
             what.starts_with("rankfile") || what.starts_with("pe-list");
    }
    case OptionMeaning::kParameter:
      return option.values[0].starts_with("rmaps_");
    default:
      return among(kNames, option.name);
  }
}

}  // namespace

std::string own_binding(const MpirunLine* line, const Environment& env) {
  if (line != nullptr) {
    for (const LineOption& option : line->options) {
      if (binds(option)) return words_of(*line, option);
    }
  }
  for (const std::string_view name : kBindingVariables) {
    const std::string* value = find_env(env, name);
    if (value != nullptr) return std::string(name) + "=" + *value;
  }
  return "";
}

bool counts_by_itself(const MpirunLine& line) {
  return !line.parameters.empty() ||
         std::any_of(line.options.begin(), line.options.end(), counts);
}

bool has_mapping_option(const MpirunLine& line) {
  return std::any_of(
      line.options.begin(), line.options.end(), [](const LineOption& option) {
        return option.meaning != OptionMeaning::kParameter && maps(option);
      });
}

std::string own_mapping(const MpirunLine& line) {
  for (const LineOption& option : line.options) {
    if (maps(option)) return words_of(line, option);
  }
  if (!line.parameters.empty()) return line.parameters.back().source;
  return "";
}

}  // namespace muster
