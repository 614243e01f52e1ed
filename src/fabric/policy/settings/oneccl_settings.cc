// SPDX-License-Identifier: Apache-2.0
// CCL_KVS_IFACE: the interface at which processes with Intel's GPUs meet. Left
// alone, oneCCL takes the first one that is not lo, even a bridge's or a
// tunnel's, and waits there without an end. Processes of one pod meet on lo.
// Source: uxlfoundation/oneCCL#209, src/atl/util/pm/pmi_resizable_rt. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

constexpr const char* kName = "CCL_KVS_IFACE";

// Gaudi has a library of its own.
bool uses_oneccl(const PodFabric& pod) {
  return has_intel_gpus(pod) &&
         std::none_of(pod.gpus->begin(), pod.gpus->end(), [](auto& gpu) {
           const std::string name = to_lower(gpu.name);
           return name.find("gaudi") != name.npos ||
                  name.find("habana") != name.npos ||
                  name.find("hl-") != name.npos;
         });
}

// With MPI, processes learn of each other.
bool meets_by_mpi(const PodFabric& pod) {
  for (const char* name : {"CCL_ATL_TRANSPORT", "CCL_KVS_MODE"}) {
    const auto users = effective(pod, name);
    if (users && to_lower(trim(users->value)) == "mpi") return true;
  }
  return false;
}

// In the kernel's order.
std::vector<const FabricNetdev*> candidates(const PodFabric& pod) {
  std::vector<const FabricNetdev*> out;
  if (!pod.netdevs) return out;
  for (const FabricNetdev& netdev : *pod.netdevs) {
    const bool ipv4 = std::any_of(
        netdev.addresses.begin(), netdev.addresses.end(),
        [](auto& address) { return address.find(':') == address.npos; });
    if (netdev.name != "lo" && !no(netdev.up) && ipv4) out.push_back(&netdev);
  }
  return out;
}

void set_interface(FabricJob& job, FabricPodState& pod) {
  const PodFabric& facts = *pod.facts;
  const auto own = candidates(facts);
  if (own.empty()) return;
  const bool alone = job.pods.size() < 2;
  const std::string first = own.front()->name;
  if (first.empty()) return;  // unknown
  // A facts file may hold one node of a cluster, whose peers are not on lo.
  if (alone && !(facts.hcas && facts.hcas->empty())) return;
  // One interface, or the right one, leaves no choice.
  if (alone ? own.size() < 2 || facts.gpus->size() < 2
            : pod.primary.name.empty() || pod.primary.name == first) {
    return;
  }
  FabricSetting setting{
      "oneCCL",
      kName,
      alone ? "lo" : pod.primary.name,
      alone ? "all processes are in this pod, and oneCCL would meet on one of "
              "several interfaces"
            : "oneCCL would meet on " + first + ", its first interface",
      alone ? std::to_string(own.size()) + " interfaces" : pod.primary.reason,
      FabricConfidence::kLikely,
      "uxlfoundation/oneCCL#209"};
  setting.alone = first;
  setting.rejected = {"unset: the first interface need not lead to the others"};
  propose(job, pod, setting);
}

}  // namespace

void set_oneccl(FabricJob& job) {
  for (FabricPodState& pod : job.pods) {
    if (uses_oneccl(*pod.facts) && !meets_by_mpi(*pod.facts)) {
      set_interface(job, pod);
    }
  }
}

}  // namespace muster
