// SPDX-License-Identifier: Apache-2.0
#include "job/native_line.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "job/output_files.h"

namespace muster {

namespace {

// Options without a different effect in a native start.
constexpr std::array<std::string_view, 9> kHarmless = {
    "nooversubscribe", "byslot", "v",
    "verbose",         "q",      "quiet",
    "genvall",         "envall", "print-all-exitcodes"};

// Parameters of the launcher itself or of its way to daemons have no meaning
// without it; the rest are the ranks'.
bool is_launchers(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kPrefixes = {
      "plm",  "orte", "routed", "oob",  "rmaps",
      "prte", "ras",  "state",  "odls", "hwloc_base"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](auto prefix) { return name.starts_with(prefix); });
}

// True: understood; its request is in `out`.
bool take_binding(const std::string& value, NativeLine& out) {
  if (value == "none" || value == "core" || value == "numa") {
    out.bind_to = value;
    return true;
  }
  return false;
}

bool take_mapping(const std::string& value) {
  if (value == "slot" || value == "node") return true;
  const auto parts = split(value, ':');
  return parts.size() == 3 && parts[0] == "ppr" &&
         parse_integer(parts[1]).value_or(0) > 0 && parts[2] == "node";
}

bool take_parameter(const LineOption& option, NativeLine& out) {
  if (option.values.size() != 2 || is_launchers(option.values[0])) return false;
  const bool prte = option.name.find("prte") != std::string::npos;
  if (prte) return false;
  set_env(out.env, "OMPI_MCA_" + option.values[0], option.values[1]);
  return true;
}

bool take(const MpirunLine& line, const LineOption& option, NativeLine& out) {
  const std::string value = option.values.empty() ? "" : option.values[0];
  switch (option.meaning) {
    case OptionMeaning::kProcesses:
    case OptionMeaning::kHostfile:
    case OptionMeaning::kHosts:
    case OptionMeaning::kEnv:
    case OptionMeaning::kEnvPair:
    case OptionMeaning::kGlobalEnvPair:
    case OptionMeaning::kEnvNames:
    case OptionMeaning::kGlobalEnvNames:
    case OptionMeaning::kDirectory:
    case OptionMeaning::kPerNode:
    case OptionMeaning::kOnePerNode:
    case OptionMeaning::kByNode:
    case OptionMeaning::kOversubscribe:
    case OptionMeaning::kRemoteShell:
    case OptionMeaning::kTagOutput:
    case OptionMeaning::kAllowRoot:
    case OptionMeaning::kTimeout:
      return true;
    case OptionMeaning::kMapBy:
      return take_mapping(value);
    case OptionMeaning::kParameter:
      return take_parameter(option, out);
    case OptionMeaning::kStdin:
      return value == "0" || value == "all" || value == "none";
    case OptionMeaning::kOther:
      if (option.name == "bind-to") return take_binding(value, out);
      if (const OutputFiles files = output_files(line, option);
          !files.directory.empty()) {
        return !files.more;
      }
      if (option.name == "rank-by") return value == "slot" && !line.by_node;
      return std::find(kHarmless.begin(), kHarmless.end(), option.name) !=
             kHarmless.end();
    case OptionMeaning::kRankfile:
    case OptionMeaning::kAppFile:
    case OptionMeaning::kInformation:
      break;
  }
  return false;
}

}  // namespace

NativeLine native_line(const MpirunLine& line) {
  NativeLine out;
  if (!line.unknown.empty()) {
    out.blocker = line.unknown[0].word;
    return out;
  }
  for (const LineOption& option : line.options) {
    if (take(line, option, out)) continue;
    out.blocker = line.words[option.at];
    for (const std::string& value : option.values) out.blocker += " " + value;
    return out;
  }
  if (line.apps.empty()) out.blocker = "a line without a program";
  return out;
}

}  // namespace muster
