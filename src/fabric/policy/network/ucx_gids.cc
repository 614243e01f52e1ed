// SPDX-License-Identifier: Apache-2.0
// UCX's own choice of a RoCE address: the first RoCE v2 entry of an IPv4
// address that gives an address handle; a tunnel above the adapter's interface
// has such an entry, too. Sets one index for all adapters only if that is in
// the way. Source: openucx/ucx src/uct/ib/base/ib_device.c,
// uct_ib_device_select_gid; openucx/ucx#9484. Pure.
#include <algorithm>
#include <optional>
#include <set>

#include "fabric/policy/job_state.h"
#include "fabric/policy/network/gids.h"

namespace muster {

namespace {

const FabricGid* taken_by_ucx(const FabricPort& port) {
  if (!port.gids) return nullptr;
  const auto first =
      std::find_if(port.gids->begin(), port.gids->end(), [](auto& gid) {
        return gid.type == "v2" && !no(gid.readable) && !no(gid.usable) &&
               gid_address(gid) == GidAddress::kIpv4;
      });
  return first == port.gids->end() ? nullptr : &*first;
}

// The tunnel's entry that UCX would take there; nullptr if it takes another.
const FabricGid* tunnel_taken(const FabricPodState& pod, const PortView& view) {
  const FabricGid* taken = taken_by_ucx(*view.port);
  if (!view.chosen || taken == nullptr || taken->netdev.empty()) return nullptr;
  const FabricNetdev* netdev = find_netdev(*pod.facts, taken->netdev);
  return netdev != nullptr && is_tunnel(*netdev) ? taken : nullptr;
}

// An index that is right for every adapter with a known table; -1: none.
int common_index(const FabricPodState& pod) {
  std::optional<std::set<int>> common;
  for (const PortView& view : pod.ports) {
    if (!view.chosen || !view.port->gids) continue;
    std::set<int> own;
    for (const FabricGid* gid :
         usable_gids(*pod.facts, *view.port, GidAddress::kIpv4)) {
      if (!common || common->contains(gid->index)) own.insert(gid->index);
    }
    common = std::move(own);
  }
  return !common || common->empty() ? -1 : *common->begin();
}

void set_index(FabricJob& job, FabricPodState& pod, const PortView& view,
               const FabricGid& taken) {
  const std::string reason = "UCX would take the address of a tunnel, " +
                             taken.netdev + ", which RDMA does not go through";
  const std::string seen = view.name() + ": index " +
                           std::to_string(taken.index) + " is of " +
                           taken.netdev;
  const int index = common_index(pod);
  if (index < 0) {
    report(job, &pod,
           {Severity::kWarning, "ucx_gid_of_tunnel",
            reason + ", and no one index is right for all adapters", seen,
            "take the tunnel off the adapter's interface, or name one adapter "
            "in UCX_NET_DEVICES and its index in UCX_IB_GID_INDEX"});
    return;
  }
  FabricSetting setting{
      "UCX", "UCX_IB_GID_INDEX",        std::to_string(index), reason,
      seen,  FabricConfidence::kLikely, "openucx/ucx#9484"};
  setting.alone = "index " + std::to_string(taken.index);
  setting.rejected = {"one index for all pods: tables differ between pods",
                      "UCX_NET_DEVICES: names adapters, not their addresses"};
  propose(job, pod, setting);
}

}  // namespace

void set_ucx_gids(FabricJob& job) {
  if (job.transport != FabricTransport::kRoce || job.mpi_on_tcp) return;
  for (FabricPodState& pod : job.pods) {
    if (pod.facts->mpi.family == "intel") continue;
    for (const PortView& view : pod.ports) {
      const FabricGid* taken = tunnel_taken(pod, view);
      if (taken == nullptr) continue;
      set_index(job, pod, view, *taken);
      break;  // one index, one finding
    }
  }
}

}  // namespace muster
