// SPDX-License-Identifier: Apache-2.0
#include "job/visible_gpus.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "job/binding.h"

namespace muster {

namespace {

enum class Choice { kFine, kCut, kNothing, kHidden };

struct Seen {
  Choice choice = Choice::kFine;
  std::string wrong;  // the first entry that is not a device
};

bool any_id(const GpuFacts& gpu, std::string_view prefix) {
  const auto starts = [prefix](const std::string& id) {
    return id.starts_with(prefix);
  };
  return std::any_of(gpu.devices.begin(), gpu.devices.end(), starts) ||
         std::any_of(gpu.places.begin(), gpu.places.end(),
                     [&](const GpuPlace& place) { return starts(place.id); });
}

bool is_there(const GpuFacts& gpu, std::string_view entry) {
  if (const auto index = parse_integer(entry)) {
    return *index >= 0 && *index < gpu.count;
  }
  for (const std::string_view kind : {"GPU-", "MIG-"}) {
    // The driver takes the beginning of an identity, too.
    if (entry.starts_with(kind))
      return !any_id(gpu, kind) || any_id(gpu, entry);
  }
  return true;
}

Seen look(const GpuFacts& gpu, const std::string& value) {
  const std::string_view list = trim(value);
  if (list.empty() || list == "NoDevFiles" || list.starts_with("-1")) {
    return {Choice::kHidden, ""};
  }
  bool first = true;
  for (const auto word : split(list, ',')) {
    const std::string_view entry = trim(word);
    if (!is_there(gpu, entry)) {
      return {first ? Choice::kNothing : Choice::kCut, std::string(entry)};
    }
    first = false;
  }
  return {};
}

std::string count_words(int gpus) {
  return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
}

std::string few(const std::vector<std::string>& hosts) {
  if (hosts.size() < 3) return join(hosts, " and ");
  return hosts[0] + " and " + std::to_string(hosts.size() - 1) + " more";
}

Finding finding_of(const std::string& setting, const Seen& seen, int gpus,
                   const std::vector<std::string>& hosts) {
  const std::string had =
      few(hosts) + (hosts.size() == 1 ? " has " : " have ") + count_words(gpus);
  if (seen.choice == Choice::kHidden) {
    return {Severity::kInfo, "gpus_hidden",
            setting + " hides all GPUs from the ranks: " + had, "",
            "take the variable out if ranks are to compute on GPUs"};
  }
  const std::string left = seen.choice == Choice::kNothing
                               ? "ranks see no GPU"
                               : "ranks see only those before it";
  return {Severity::kWarning, "gpu_not_there",
          setting + ": there is no GPU " + seen.wrong + ", and " + left + ": " +
              had,
          "", "correct the list, or take the variable out"};
}

}  // namespace

std::vector<Finding> visible_gpu_findings(
    const std::vector<PlacedRanks>& nodes) {
  struct Group {
    Seen seen;
    std::vector<std::string> hosts;
  };
  std::map<std::pair<std::string, int>, Group> groups;
  bool any_sees = false;
  for (const PlacedRanks& node : nodes) {
    if (node.ranks == 0) continue;
    const GpuFacts& gpu = node.facts->gpu;
    bool sees = true;
    const bool known = gpu.vendor == "nvidia" || gpu.vendor == "amd";
    for (const std::string& name :
         known ? gpu_variables(gpu.vendor) : std::vector<std::string>{}) {
      const std::string* value = find_env(node.env, name);
      if (value == nullptr || gpu.count == 0) continue;
      const Seen seen = look(gpu, *value);
      if (seen.choice == Choice::kFine) continue;
      if (seen.choice == Choice::kNothing) sees = false;
      Group& group = groups[{name + "=" + *value, gpu.count}];
      group.seen = seen;
      group.hosts.push_back(node.host);
    }
    any_sees = any_sees || sees;
  }
  std::vector<Finding> out;
  for (const auto& [key, group] : groups) {
    out.push_back(finding_of(key.first, group.seen, key.second, group.hosts));
    if (!any_sees && group.seen.choice == Choice::kNothing) {
      out.back().severity = Severity::kError;
    }
  }
  return out;
}

}  // namespace muster
