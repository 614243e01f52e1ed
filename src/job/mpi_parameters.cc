// SPDX-License-Identifier: Apache-2.0
#include "job/mpi_parameters.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "job/line_placement.h"

namespace muster {

namespace {

enum class Asks {
  kOversubscribe,    // true: allowed
  kNoOversubscribe,  // true: forbidden
  kMapping,          // "node", "ppr:2:node:oversubscribe"
  kOnePerNode,       // true
  kPerNode,          // a number
  kByNode,           // true
  kOtherMapping,     // mapped in a way that only mpirun looks at
  kRankfile,
  kTagOutput,  // true
};

struct Row {
  std::string_view name;
  Asks asks;
};

constexpr Row kRows[] = {
    {"rmaps_base_oversubscribe", Asks::kOversubscribe},
    {"rmaps_base_no_oversubscribe", Asks::kNoOversubscribe},
    {"rmaps_base_mapping_policy", Asks::kMapping},
    {"rmaps_default_mapping_policy", Asks::kMapping},
    {"rmaps_base_pernode", Asks::kOnePerNode},
    {"rmaps_ppr_pernode", Asks::kOnePerNode},
    {"rmaps_base_n_pernode", Asks::kPerNode},
    {"rmaps_ppr_n_pernode", Asks::kPerNode},
    {"rmaps_base_bynode", Asks::kByNode},
    {"rmaps_base_bycore", Asks::kOtherMapping},
    {"rmaps_base_n_persocket", Asks::kOtherMapping},
    {"rmaps_ppr_n_persocket", Asks::kOtherMapping},
    {"rmaps_base_pattern", Asks::kOtherMapping},
    {"rmaps_ppr_pattern", Asks::kOtherMapping},
    {"rmaps_base_cpus_per_proc", Asks::kOtherMapping},
    {"rmaps_base_cpus_per_rank", Asks::kOtherMapping},
    {"rmaps_base_no_schedule_local", Asks::kOtherMapping},
    {"rmaps_rank_file_path", Asks::kRankfile},
    {"orte_rankfile", Asks::kRankfile},
    {"orte_tag_output", Asks::kTagOutput},
};

const Row* find_row(std::string_view name) {
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows),
                   [name](const Row& r) { return r.name == name; });
  return row == std::end(kRows) ? nullptr : row;
}

// As Open MPI reads a value of a bool.
bool is_true(std::string_view value) {
  const std::string lower = to_lower(trim(value));
  return lower == "true" || lower == "yes" || lower == "on" ||
         lower == "enabled" || parse_integer(lower).value_or(0) != 0;
}

bool has_modifier(const std::string& policy, std::string_view modifier) {
  const std::string lower = to_lower(policy);
  const auto parts = split(lower, ':');
  return std::any_of(parts.begin(), parts.end(), [modifier](auto part) {
    const auto words = split(part, ',');
    return std::find(words.begin(), words.end(), modifier) != words.end();
  });
}

bool maps_ranks(const MpiParameter& parameter) {
  const Row* const row = find_row(parameter.name);
  return row != nullptr && row->asks != Asks::kTagOutput &&
         row->asks != Asks::kOversubscribe &&
         row->asks != Asks::kNoOversubscribe && !parameter.value.empty() &&
         parameter.value != "0" && to_lower(parameter.value) != "false";
}

// A line with the equivalent option.
void set_mapping(const std::string& policy, MpirunLine& line) {
  if (policy.empty() || policy[0] == ':') return;  // modifiers only
  const auto same =
      parse_mpirun_line({"mpirun", "--map-by", policy, "x"}, kOpenMpiLauncher);
  if (!same) return;  // mpirun will report the error
  line.map_by = same->map_by;
  line.by_node = same->by_node;
  line.per_node = same->per_node;
}

void apply_mapping(const MpiParameter& parameter, Asks asks, MpirunLine& line) {
  const std::string& value = parameter.value;
  switch (asks) {
    case Asks::kMapping:
      return set_mapping(value, line);
    case Asks::kOnePerNode:
      if (is_true(value)) line.per_node = 1;
      break;
    case Asks::kPerNode:
      if (const auto count = parse_integer(value);
          count && *count >= 1 && *count <= kMaxSlots) {
        line.per_node = static_cast<int>(*count);
      }
      break;
    case Asks::kByNode:
      if (is_true(value)) line.by_node = true;
      break;
    case Asks::kRankfile:
      line.rankfile = value;
      break;
    default:
      break;
  }
}

std::vector<MpiParameter> of_line(const MpirunLine& line) {
  std::vector<MpiParameter> out;
  for (const LineOption& option : line.options) {
    if (option.meaning != OptionMeaning::kParameter) continue;
    if (option.values.size() != 2) continue;
    out.push_back({option.values[0], option.values[1], ""});
  }
  return out;
}

}  // namespace

std::vector<MpiParameter> parameters_of(const Environment& env) {
  std::vector<MpiParameter> out;
  for (const auto& [name, value] : env) {
    for (const std::string_view prefix : {"OMPI_MCA_", "PRTE_MCA_"}) {
      if (!name.starts_with(prefix)) continue;
      out.push_back({name.substr(prefix.size()), value, name + "=" + value});
    }
  }
  return out;
}

std::vector<MpiParameter> parse_parameter_file(std::string_view text,
                                               const std::string& path) {
  std::vector<MpiParameter> out;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    out.push_back({std::string(trim(line.substr(0, equals))),
                   std::string(trim(line.substr(equals + 1))),
                   path + ":" + std::to_string(number)});
  }
  return out;
}

bool allow_oversubscription(const std::vector<MpiParameter>& parameters) {
  bool allowed = false;
  for (const MpiParameter& parameter : parameters) {
    const Row* const row = find_row(parameter.name);
    if (row == nullptr) continue;
    if (row->asks == Asks::kOversubscribe) allowed = is_true(parameter.value);
    if (row->asks == Asks::kNoOversubscribe && is_true(parameter.value)) {
      allowed = false;
    }
    if (row->asks == Asks::kMapping) {
      allowed |= has_modifier(parameter.value, "oversubscribe");
      allowed &= !has_modifier(parameter.value, "nooversubscribe");
    }
  }
  return allowed;
}

void apply_time_limit(const Environment& env, MpirunLine& line) {
  const std::string* const value = find_env(env, "MPIEXEC_TIMEOUT");
  if (value == nullptr || line.timeout_s) return;
  constexpr int64_t kMostSeconds = 1'000'000'000'000;
  const auto seconds = parse_integer(*value);
  if (seconds && *seconds > 0)
    line.timeout_s = std::min(*seconds, kMostSeconds);
}

void apply_parameters(const std::vector<MpiParameter>& ambient,
                      MpirunLine& line) {
  if ((line.launchers & kOpenMpiLauncher) == 0) return;
  std::vector<MpiParameter> all = ambient;
  const auto own = of_line(line);
  all.insert(all.end(), own.begin(), own.end());
  const auto forbids = [](const LineOption& option) {
    return option.name == "nooversubscribe";
  };
  if (std::none_of(line.options.begin(), line.options.end(), forbids)) {
    line.oversubscribe |= allow_oversubscription(all);
  }
  for (const MpiParameter& parameter : all) {
    const Row* const row = find_row(parameter.name);
    if (row != nullptr && row->asks == Asks::kTagOutput) {
      line.tag_output |= is_true(parameter.value);
    }
  }
  if (has_mapping_option(line)) return;
  for (const MpiParameter& parameter : all) {
    if (!maps_ranks(parameter)) continue;
    apply_mapping(parameter, find_row(parameter.name)->asks, line);
  }
  std::copy_if(ambient.begin(), ambient.end(),
               std::back_inserter(line.parameters), maps_ranks);
}

}  // namespace muster
