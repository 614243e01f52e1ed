// SPDX-License-Identifier: Apache-2.0
// Decides which of the peers' RoCE addresses UCX can reach. Since 1.18 UCX asks
// the routing table, and before 1.20 it ignores the default gateway there, so
// it gives up peers behind routers (openucx/ucx#10841, #10996, #11019). UCX
// does not see rails that no route joins; the plan then gives it one of them
// (openucx/ucx#7295). Pure.
#include <algorithm>
#include <set>

#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/ucx.h"

namespace muster {

namespace {

constexpr NcclVersion kAsksRoutes{1, 18, 0};
constexpr NcclVersion kHeedsGateway{1, 20, 0};

using Subnets = std::set<std::string>;

bool meet(const Subnets& a, const Subnets& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](auto& subnet) { return b.contains(subnet); });
}

// Some two pods have all their ports in different networks, for certain.
bool routed(const std::vector<Subnets>& pods) {
  if (std::any_of(pods.begin(), pods.end(),
                  [](auto& pod) { return pod.empty(); })) {
    return false;
  }
  const std::set<Subnets> kinds(pods.begin(), pods.end());
  for (const Subnets& one : kinds) {
    for (const Subnets& other : kinds) {
      if (!meet(one, other)) return true;
    }
  }
  return false;
}

void set_mode(FabricJob& job, FabricPodState& pod) {
  const auto version = parse_nccl_version(pod.facts->ucx.version);
  if (!version || *version < kAsksRoutes || *version >= kHeedsGateway) return;
  FabricSetting setting{
      "UCX",
      "UCX_IB_ROCE_REACHABILITY_MODE",
      "all",
      "UCX before 1.20 does not heed the default gateway, "
      "behind which adapters of other pods are",
      "UCX " + pod.facts->ucx.version + "; the interfaces' addresses",
      FabricConfidence::kLikely,
      "openucx/ucx#10841, #10996, #11019"};
  setting.alone =
      "route: adapters without a route of their own are passed over";
  setting.rejected = {"local_subnet: passes over all that is behind a router",
                      "UCX_NET_DEVICES: names adapters, not what they reach"};
  propose(job, pod, setting);
}

// One rail that all pods have; "" if none is known.
std::string common_subnet(const std::vector<Subnets>& pods) {
  for (const std::string& subnet : pods.front()) {
    if (std::all_of(pods.begin(), pods.end(),
                    [&](auto& pod) { return pod.contains(subnet); })) {
      return subnet;
    }
  }
  return "";
}

// The user named one adapter: it is one rail in any case.
bool names_one(const PodFabric& pod) {
  const auto users = effective(pod, "UCX_NET_DEVICES");
  return users && users->value != "all" && !users->value.starts_with('^') &&
         users->value.find(',') == std::string::npos;
}

void set_rail(FabricJob& job, FabricPodState& pod, const std::string& subnet) {
  if (!has_ucx(*pod.facts) || ucx_on_tcp(*pod.facts) || names_one(*pod.facts)) {
    return;
  }
  const auto rail =
      std::find_if(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
        return view.chosen && port_subnet(pod, view) == subnet;
      });
  const auto count = std::count_if(pod.ports.begin(), pod.ports.end(),
                                   [](auto& view) { return view.chosen; });
  if (rail == pod.ports.end() || count < 2) return;
  FabricSetting setting{
      "UCX",
      "UCX_NET_DEVICES",
      rail->hca->name + ":" + std::to_string(rail->port->number),
      "UCX joins any two adapters, and those of different rails do not reach "
      "each other",
      "reachability test",
      FabricConfidence::kLikely,
      "openucx/ucx#7295"};
  setting.alone = "all adapters, each with any of the peer's";
  setting.rejected = {"two or more rails: UCX would join them crosswise"};
  propose(job, pod, setting);
}

bool apart(const FabricJob& job) {
  return std::any_of(job.pods.begin(), job.pods.end(),
                     [](auto& pod) { return no(pod.facts->cross_rail); });
}

}  // namespace

void set_ucx_reach(FabricJob& job) {
  if (job.transport != FabricTransport::kRoce || job.mpi_on_tcp ||
      job.pods.size() < 2) {
    return;
  }
  std::vector<Subnets> pods;
  for (const FabricPodState& pod : job.pods) {
    pods.push_back(chosen_subnets(pod));
  }
  if (apart(job)) {
    const std::string subnet = common_subnet(pods);
    if (subnet.empty()) return;
    for (FabricPodState& pod : job.pods) set_rail(job, pod, subnet);
  } else if (routed(pods)) {
    for (FabricPodState& pod : job.pods) {
      if (pod.facts->mpi.family != "intel") set_mode(job, pod);
    }
  }
}

}  // namespace muster
