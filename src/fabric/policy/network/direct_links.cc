// SPDX-License-Identifier: Apache-2.0
// Nodes cabled to each other without a switch: each link is a subnet of its
// own, every two pods share one, and none is common to all. NCCL joins ports
// by position, so it connects ports that no cable joins; since 2.30.7 it can
// go by subnet (NVIDIA/nccl commit 5c1c4288). Pure.
#include <algorithm>
#include <set>

#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

using Subnets = std::set<std::string>;

bool share(const Subnets& a, const Subnets& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](auto& subnet) { return b.contains(subnet); });
}

bool linked_in_pairs(const std::vector<Subnets>& pods) {
  const bool any_common =
      std::any_of(pods[0].begin(), pods[0].end(), [&](auto& subnet) {
        return std::all_of(pods.begin(), pods.end(),
                           [&](auto& pod) { return pod.contains(subnet); });
      });
  if (any_common) return false;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (pods[i].size() < 2) return false;
    for (size_t k = 0; k < i; ++k) {
      if (!share(pods[i], pods[k])) return false;
    }
  }
  return true;
}

// An unknown plugin that the user named: it may be made for such links.
bool chose_other_network(const FabricPodState& pod) {
  const auto plugin = loaded_plugin(*pod.facts);
  return plugin && plugin->kind == PluginKind::kUnknown &&
         effective(*pod.facts, "NCCL_NET_PLUGIN").has_value();
}

}  // namespace

bool linked_by_cables(const FabricJob& job) {
  if (job.transport != FabricTransport::kRoce || job.pods.size() < 3) {
    return false;
  }
  std::vector<Subnets> pods;
  for (const FabricPodState& pod : job.pods) {
    pods.push_back(chosen_subnets(pod));
    if (pods.back().empty()) return false;
  }
  return linked_in_pairs(pods);
}

void set_direct_links(FabricJob& job) {
  if (!linked_by_cables(job)) return;
  for (FabricPodState& pod : job.pods) {
    if (chose_other_network(pod)) continue;
    if (pod.assumed_version() < kSubnetAware) {
      report(job, &pod,
             {Severity::kWarning, "direct_links",
              "every two pods share a subnet and none is common to all "
              "(cables without a switch): this NCCL connects ports that no "
              "cable joins",
              "NVIDIA/nccl commit 5c1c4288", "use NCCL 2.30.7 or later"});
      continue;
    }
    FabricSetting setting{"NCCL",
                          "NCCL_IB_SUBNET_AWARE_ROUTING",
                          "1",
                          "every two pods share a subnet and none is common "
                          "to all: NCCL must choose the port by subnet",
                          "the interfaces' addresses",
                          FabricConfidence::kLikely,
                          "NVIDIA/nccl commit 5c1c4288"};
    setting.alone = "ports by position, also those without a cable between";
    setting.rejected = {"NCCL_IB_HCA: no port reaches all pods"};
    propose(job, pod, setting);
  }
}

}  // namespace muster
