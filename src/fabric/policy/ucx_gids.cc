// SPDX-License-Identifier: Apache-2.0
// UCX's own choice of a RoCE address: the first RoCE v2 entry of an IPv4
// address of which an address handle can be made, and a tunnel above the
// adapter's interface has such an entry, too. One index for all adapters is
// set only where that is in the way. Source: openucx/ucx
// src/uct/ib/base/ib_device.c, uct_ib_device_select_gid; openucx/ucx#9484.
// Pure.
#include <algorithm>

#include "fabric/policy/gids.h"
#include "fabric/policy/job_state.h"

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

void set_index(FabricJob& job, FabricPodState& pod, const PortView& view) {
  const FabricGid* taken = taken_by_ucx(*view.port);
  const auto usable = usable_gids(*pod.facts, *view.port, GidAddress::kIpv4);
  if (taken == nullptr || usable.empty() || taken->netdev.empty()) return;
  const FabricNetdev* netdev = find_netdev(*pod.facts, taken->netdev);
  if (netdev == nullptr || !is_tunnel(*netdev)) return;
  const int index = usable.front()->index;
  FabricSetting setting{"UCX",
                        "UCX_IB_GID_INDEX",
                        std::to_string(index),
                        "UCX would take the address of a tunnel, " +
                            taken->netdev + ", which RDMA does not go through",
                        view.name() + ": index " +
                            std::to_string(taken->index) + " is of " +
                            taken->netdev,
                        FabricConfidence::kLikely,
                        "openucx/ucx#9484"};
  setting.alone = "index " + std::to_string(taken->index);
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
      if (view.chosen) set_index(job, pod, view);
    }
  }
}

}  // namespace muster
