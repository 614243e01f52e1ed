// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/nccl_spread.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {

constexpr std::chrono::seconds kOthersFollow{10};
constexpr size_t kMostNames = 8;
constexpr const char* kRemedy =
    "run one image in all pods, or find out what opens that library: an NCCL "
    "by path (LD_PRELOAD, VLLM_NCCL_SO_PATH), or another LD_LIBRARY_PATH";

Finding off_plan(const PodNccl& pod) {
  return {Severity::kWarning, "nccl_loaded",
          "rank " + std::to_string(pod.rank) + " on " + pod.host +
              " loaded NCCL " + pod.version + " (" + pod.path +
              "), and the settings of the network are of " + pod.planned +
              ", which was found for the command",
          "/proc/PID/maps of the rank", kRemedy};
}

std::string names(std::vector<std::string> hosts) {
  const size_t more = hosts.size() > kMostNames ? hosts.size() - kMostNames : 0;
  hosts.resize(hosts.size() - more);
  return join(hosts, ", ") +
         (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

// "worker-3 loads NCCL 2.27.5 (/usr/lib/…), the others 2.28.9"
std::vector<Finding> spread(const std::map<std::string, PodNccl>& pods) {
  std::map<std::string, std::vector<const PodNccl*>> by_version;
  for (const auto& [host, pod] : pods) by_version[pod.version].push_back(&pod);
  if (by_version.size() < 2) return {};
  const auto most = std::max_element(
      by_version.begin(), by_version.end(),
      [](auto& a, auto& b) { return a.second.size() < b.second.size(); });
  std::string text;
  for (const auto& [version, odd] : by_version) {
    if (version == most->first) continue;
    std::vector<std::string> hosts;
    for (const PodNccl* pod : odd) hosts.push_back(pod->host);
    text += names(hosts) + (odd.size() == 1 ? " loads" : " load") + " NCCL " +
            version + " (" + odd.front()->path + "), ";
  }
  text += (most->second.size() == 1 ? most->second.front()->host
                                    : std::string("the others")) +
          " " + most->first;
  return {{Severity::kWarning, "nccl_spread", text,
           "/proc/PID/maps of each pod's first rank", kRemedy}};
}

}  // namespace

std::vector<Finding> NcclSpread::add(PodNccl pod, size_t expected, Time now) {
  std::vector<Finding> out;
  if (!pod.version.empty() && pods_.count(pod.host) == 0) {
    if (pods_.empty()) first_ = now;
    const bool off = !pod.planned.empty() && pod.planned != pod.version;
    const std::string both = pod.planned + " " + pod.version;
    if (off && told_plans_.insert(both).second) {
      out.push_back(off_plan(pod));
    }
    const std::string host = pod.host;
    pods_.emplace(host, std::move(pod));
  }
  const bool all = pods_.size() >= expected;
  if (told_spread_ || pods_.empty() || (!all && now < first_ + kOthersFollow)) {
    return out;
  }
  for (Finding& one : finish()) out.push_back(std::move(one));
  return out;
}

std::vector<Finding> NcclSpread::finish() {
  if (told_spread_) return {};
  std::vector<Finding> out = spread(pods_);
  told_spread_ = !out.empty();
  return out;
}

}  // namespace muster
