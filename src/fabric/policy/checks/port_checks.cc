// SPDX-License-Identifier: Apache-2.0
// Adapters that differ where they should be alike: a port that runs slower
// than the same one elsewhere, InfiniBand ports of another subnet, functions
// that a virtual machine shows as one card; Soft-RoCE. Sources: NCCL
// net_ib/init.cc (ncclIbGetPciPath), Mellanox/nccl-rdma-sharp-plugins#145.
// Pure.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

// A collective runs at the rate of its slowest rail.
void check_rates(FabricJob& job) {
  std::map<std::string, double> fastest;  // of the ports with one name
  for (const FabricPodState& pod : job.pods) {
    for (const PortView& view : pod.ports) {
      if (!view.chosen) continue;
      double& rate = fastest[view.name()];
      rate = std::max(rate, view.port->rate_gbps);
    }
  }
  for (const FabricPodState& pod : job.pods) {
    std::vector<const PortView*> slow;
    size_t known = 0;
    for (const PortView& view : pod.ports) {
      const double rate = view.port->rate_gbps;
      if (!view.chosen || rate <= 0) continue;
      ++known;
      if (rate < fastest[view.name()]) slow.push_back(&view);
    }
    const bool other_machine = slow.size() == known && known > 1;
    if (other_machine) slow.resize(1);
    for (const PortView* view : slow) {
      const std::string name = other_machine ? "every adapter" : view->name();
      report(job, &pod,
             {Severity::kWarning, "rate_differs",
              name + " runs at " + gbps_text(view->port->rate_gbps) +
                  ", in other pods at " + gbps_text(fastest[view->name()]) +
                  ": every rank waits for the slowest rail",
              "the ports' rates",
              other_machine ? "run the job on nodes of one kind"
                            : "check cable, transceiver and switch port"});
    }
  }
}

// NCCL from 2.20 to 2.29 sets up the receiving end with the sender's MTU
// (NVIDIA/nccl#1524, #2135).
void check_mtus(FabricJob& job) {
  std::map<std::string, std::map<int, const FabricPodState*>> by_name;
  for (const FabricPodState& pod : job.pods) {
    for (const PortView& view : pod.ports) {
      if (!view.chosen || view.port->mtu <= 0) continue;
      by_name[view.name()].emplace(view.port->mtu, &pod);
    }
  }
  for (const auto& [name, mtus] : by_name) {
    if (mtus.size() < 2) continue;
    const auto& [low, slow] = *mtus.begin();
    const auto& [high, other] = *mtus.rbegin();
    const NcclVersion version = slow->assumed_version();
    const bool fails = version >= kMtuOfSender && version < kMtuAgreed;
    report(job, nullptr,
           {fails ? Severity::kWarning : Severity::kInfo, "mtu_differs",
            name + " has an active MTU of " + std::to_string(low) + " in " +
                slow->plan.name + " and of " + std::to_string(high) + " in " +
                other->plan.name +
                (fails ? ": NCCL 2.20 to 2.29 does not agree on the smaller "
                         "one, and large messages hang or fail"
                       : ": NCCL uses the smaller one"),
            "NVIDIA/nccl#1524",
            "give the ports the same MTU (on RoCE that of the interface: 4200 "
            "or 9000 for 4096)"});
    return;
  }
}

// "0000:06" of "0000:06:05.0"; "" if unknown.
std::string bus_of(const FabricHca& hca) {
  const size_t colon = hca.pci.rfind(':');
  return colon == std::string::npos ? "" : hca.pci.substr(0, colon);
}

// NCCL zeroes device and function to find the ports of one card. Functions of
// several cards, passed to a virtual machine on one bus, all become one.
void set_merging(FabricJob& job, FabricPodState& pod) {
  if (!yes(pod.facts->virtual_machine)) return;
  std::map<std::string, std::set<std::string>> by_bus;  // -> bus:device
  for (const PortView& view : pod.ports) {
    if (!view.chosen || no(view.hca->vf)) continue;
    const std::string bus = bus_of(*view.hca);
    if (bus.empty()) return;
    by_bus[bus].insert(view.hca->pci.substr(0, view.hca->pci.rfind('.')));
  }
  const bool collide = std::any_of(by_bus.begin(), by_bus.end(), [](auto& bus) {
    return bus.second.size() > 1;
  });
  if (!collide) return;
  FabricSetting setting{"NCCL",
                        "NCCL_IB_MERGE_VFS",
                        "0",
                        "the virtual machine has its functions on one bus, and "
                        "NCCL would take them for ports of one card",
                        "PCI addresses of the adapters",
                        FabricConfidence::kLikely,
                        "Mellanox/nccl-rdma-sharp-plugins#145"};
  setting.alone = "one card that shares its bandwidth";
  setting.rejected = {"1, its default: see alone"};
  propose(job, pod, setting);
}

void check_software(FabricJob& job, const FabricPodState& pod) {
  if (std::none_of(pod.ports.begin(), pod.ports.end(), [](auto& view) {
        return view.chosen && is_software(*view.hca);
      })) {
    return;
  }
  report(job, &pod,
         {Severity::kWarning, "soft_roce",
          "its RDMA is made in software (rxe): processors copy the data, GPUs "
          "are not reached, and TCP is usually faster",
          "the adapter's driver", "profile tcp, or nodes with RDMA adapters"});
}

// "1d0f:efa1" of "0000:10:1b.0 1d0f:efa1".
std::string device_id(const std::string& entry) {
  return entry.substr(entry.rfind(' ') + 1);
}

// A pod with a whole machine's GPUs and few of the adapters on the PCI bus: its
// request names too few. A pod with some of the GPUs may well have its share;
// cards for storage are fewer than half.
void check_share(FabricJob& job, const FabricPodState& pod) {
  constexpr size_t kWholeMachine = 8;  // GPUs
  const PodFabric& facts = *pod.facts;
  if (!facts.pci_hcas || !facts.hcas || !facts.gpus) return;
  if (facts.gpus->size() < kWholeMachine) return;
  std::map<std::string, size_t> on_bus;
  for (const std::string& entry : *facts.pci_hcas) ++on_bus[device_id(entry)];
  const size_t given = facts.hcas->size();
  const size_t there = on_bus.size() == 1 ? on_bus.begin()->second : 0;
  if (given == 0 || given >= facts.gpus->size() || given * 2 > there) return;
  report(job, &pod,
         {Severity::kWarning, "rdma_partly_given",
          "the pod has " + std::to_string(facts.gpus->size()) + " GPUs and " +
              std::to_string(given) + " of the node's " +
              std::to_string(there) + " adapters",
          join(*facts.pci_hcas, ", "),
          "ask for all of them in the pod's resources (on EKS "
          "vpc.amazonaws.com/efa: " +
              std::to_string(there) + ")"});
}

// "0000:06:00" of "0000:06:00.1", a card; "" if unknown.
std::string card_of(const FabricHca& hca) {
  const size_t dot = hca.pci.rfind('.');
  return dot == std::string::npos ? "" : hca.pci.substr(0, dot);
}

// Ports of the job's network that should work and do not. Those of a card
// that works through another of its ports are not wired, as a rule.
std::vector<const PortView*> lost_ports(const FabricJob& job,
                                        const FabricPodState& pod) {
  const LinkKind kind = job.transport == FabricTransport::kInfiniBand
                            ? LinkKind::kInfiniBand
                            : LinkKind::kRoce;
  const auto beside_a_good_one = [&](const PortView& lost) {
    const std::string card = card_of(*lost.hca);
    return std::any_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
      return view.chosen && (view.hca == lost.hca ||
                             (!card.empty() && card_of(*view.hca) == card));
    });
  };
  std::vector<const PortView*> out;
  for (const PortView& view : pod.ports) {
    const bool broken = view.role == "down" || view.role == "unusable" ||
                        view.role == "unreachable";
    if (view.kind == kind && broken && !beside_a_good_one(view)) {
      out.push_back(&view);
    }
  }
  return out;
}

// Most ports do not work, and fewer are left than there are GPUs. Worth a
// remark though the job runs; not more, since some sites leave whole sets of
// ports unwired.
void check_lost_rails(FabricJob& job, const FabricPodState& pod) {
  const auto lost = lost_ports(job, pod);
  const auto left = static_cast<size_t>(
      std::count_if(pod.ports.begin(), pod.ports.end(),
                    [](auto& view) { return view.chosen; }));
  if (!pod.facts->gpus || left == 0 || left >= pod.facts->gpus->size() ||
      lost.size() <= left) {
    return;
  }
  constexpr size_t kNamed = 8;
  std::vector<std::string> names;
  for (const PortView* view : lost) {
    if (names.size() < kNamed) {
      names.push_back(view->name() + ": " + view->reason);
    }
  }
  report(
      job, &pod,
      {Severity::kInfo, "rails_dead",
       std::to_string(lost.size()) + " of its " +
           std::to_string(lost.size() + left) + " " +
           std::string(transport_name(job.transport)) + " ports do not work; " +
           std::to_string(left) + (left == 1 ? " is" : " are") + " left for " +
           std::to_string(pod.facts->gpus->size()) + " GPUs",
       join(names, "; "),
       "check cables, switch and subnet manager of its node, or leave that "
       "node out"});
}

// libfabric's EFA provider opens every device that libibverbs lists, and gives
// up at the first that it cannot open: a hostPath shows the NVLink switches,
// too, which the device plugin did not give (libfabric
// prov/efa/src/efa_device.c; aws-samples/aws-do-eks#63).
void check_blocked(FabricJob& job, const FabricPodState& pod) {
  for (const PortView& view : pod.ports) {
    const FabricHca& hca = *view.hca;
    if (view.kind == LinkKind::kEfa || hca.fails_at != "open" ||
        no(hca.device)) {
      continue;
    }
    report(
        job, &pod,
        {job.profile == Profile::kRdma ? Severity::kError : Severity::kWarning,
         "efa_blocked",
         "libfabric opens every RDMA device before it uses EFA, and " +
             hca.name +
             " cannot be opened: it gives up, and NCCL falls back to TCP "
             "silently",
         "verbs probe of " + hca.name,
         "no hostPath for /dev/infiniband: vpc.amazonaws.com/efa gives the "
         "pod the devices it needs"});
    return;
  }
}

}  // namespace

void check_ports(FabricJob& job) {
  check_rates(job);
  if (job.transport != FabricTransport::kTcp) {
    for (const FabricPodState& pod : job.pods) {
      check_share(job, pod);
      if (job.transport == FabricTransport::kEfa) check_blocked(job, pod);
    }
  }
  if (!job.uses_verbs() || job.profile == Profile::kRl) return;
  check_mtus(job);
  for (FabricPodState& pod : job.pods) {
    set_merging(job, pod);
    check_lost_rails(job, pod);
    check_software(job, pod);
  }
}

}  // namespace muster
