// SPDX-License-Identifier: Apache-2.0
// "RDMA network not detected": the known warning, with the cause in each pod
// and the remedy. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

struct Cause {
  std::string code;
  std::string text;
  std::string remedy;
};

constexpr const char* kResourceYaml =
    "give the worker an RDMA resource, for example\n"
    "  resources:\n"
    "    limits:\n"
    "      rdma/hca: 1        # the name your device plugin announces\n"
    "  securityContext: {capabilities: {add: [IPC_LOCK]}}\n"
    "and, for SR-IOV or macvlan networks, the pod annotation\n"
    "  k8s.v1.cni.cncf.io/networks: NAMESPACE/NETWORK";

// On EKS the device plugin has one name for them.
std::string how_to_ask(size_t efas) {
  if (efas == 0) return kResourceYaml;
  return "ask for the node's EFA in the pod's resources: "
         "vpc.amazonaws.com/efa: " +
         std::to_string(efas);
}

// "0000:00:1e.0 1d0f:efa1".
size_t efas_on_bus(const PodFabric& pod) {
  if (!pod.pci_hcas) return 0;
  return static_cast<size_t>(std::count_if(
      pod.pci_hcas->begin(), pod.pci_hcas->end(),
      [](auto& hca) { return hca.find("1d0f:efa") != std::string::npos; }));
}

size_t efas_seen(const FabricPodState& state) {
  return static_cast<size_t>(
      std::count_if(state.ports.begin(), state.ports.end(),
                    [](auto& view) { return view.kind == LinkKind::kEfa; }));
}

bool has_module(const PodFabric& pod, std::string_view name) {
  return std::find(pod.modules->begin(), pod.modules->end(), name) !=
         pod.modules->end();
}

bool module_missing(const PodFabric& pod) {
  return pod.modules &&
         (!has_module(pod, "ib_uverbs") || !has_module(pod, "ib_core"));
}

std::string roles_of(const FabricPodState& state) {
  std::vector<std::string> parts;
  for (const PortView& view : state.ports) {
    parts.push_back(view.name() + ": " + view.reason);
    if (parts.size() == 4) break;
  }
  return join(parts, "; ");
}

template <class Test>
bool every_port(const FabricPodState& state, Test test) {
  return !state.ports.empty() &&
         std::all_of(state.ports.begin(), state.ports.end(), test);
}

// GPUDirect-TCPX and TCPXO: no RDMA, but network cards for the GPUs, each with
// a network of its own, and a plugin that alone can use them.
bool wants_tcpx(const FabricPodState& state) {
  const PodFabric& pod = *state.facts;
  if (state.platform != Platform::kGcp || !pod.plugins || !pod.netdevs) {
    return false;
  }
  return std::count_if(pod.netdevs->begin(), pod.netdevs->end(), [](auto& dev) {
           return netdev_class(dev) == NetdevClass::kUsable;
         }) >= 5;
}

Cause cause_of_no_hca(const FabricPodState& state) {
  const PodFabric& pod = *state.facts;
  if (wants_tcpx(state)) {
    return {"plugin_missing",
            "this machine's GPUs are served by GPUDirect-TCPX or TCPXO, whose "
            "plugin is not in the image",
            "mount the vendor's plugin and start its daemon beside the worker "
            "(GoogleCloudPlatform/container-engine-accelerators)"};
  }
  const bool on_bus = pod.pci_hcas && !pod.pci_hcas->empty();
  if (on_bus && module_missing(pod)) {
    return {"rdma_module_missing",
            "the node has adapters (" + pod.pci_hcas->front() +
                "), but the kernel modules for RDMA are not loaded",
            "load ib_uverbs and the adapter's RDMA module on the node "
            "(mlx5_ib for ConnectX)"};
  }
  if (on_bus) {
    return {"rdma_not_given",
            "the node has adapters (" + pod.pci_hcas->front() +
                "), but none was given to the pod",
            how_to_ask(efas_on_bus(pod))};
  }
  if (pod.pci_hcas || pod.hcas) {
    return {"rdma_no_hca", "the node has no RDMA adapter",
            "place the job on nodes that have one (node selector or affinity)"};
  }
  return {"rdma_not_given", "/dev/infiniband is not in the pod", kResourceYaml};
}

template <class Test>
bool any_port(const FabricPodState& state, Test test) {
  return std::any_of(state.ports.begin(), state.ports.end(), test);
}

auto with_role(std::string_view role) {
  return [role](const PortView& view) { return view.role == role; };
}

// By errno or by its text.
auto failed_with(std::string_view word, std::string_view text) {
  return [word, text](const PortView& view) {
    return view.hca->error.find(word) != std::string::npos ||
           view.hca->error.find(text) != std::string::npos;
  };
}

bool needs_ofi(const PortView& view) {
  return view.kind == LinkKind::kEfa || view.kind == LinkKind::kSlingshot;
}

// The pod has the adapters, and NCCL reaches them by aws-ofi-nccl only.
Cause cause_of_ofi(const FabricPodState& state) {
  const auto own = find_ofi_plugin(*state.facts);
  if (kept_out(*state.facts, PluginKind::kOfi) &&
      (own || !state.facts->plugins)) {
    const auto asked = asked_plugin(*state.facts);
    return {"plugin_not_loaded",
            "NCCL_NET_PLUGIN=" + asked->value + " (" + asked->origin +
                ") keeps NCCL from loading aws-ofi-nccl, without which it "
                "cannot use these adapters",
            own && !own->by_default
                ? "NCCL_NET_PLUGIN=" + plugin_suffix(*own->plugin)
                : "remove NCCL_NET_PLUGIN, or name aws-ofi-nccl in it"};
  }
  const auto old = find_plugin(*state.facts, PluginKind::kOfi);
  if (old && state.version && is_too_old(*old, *state.version)) {
    return {"plugin_too_old",
            "NCCL " + state.version->text() + " does not load aws-ofi-nccl " +
                old->plugin->version + ": its interface is too old",
            "put a newer aws-ofi-nccl into the image: without it NCCL falls "
            "back to TCP silently"};
  }
  return {"plugin_missing",
          "NCCL cannot use these adapters without the aws-ofi-nccl plugin, "
          "which is not in the image",
          "put aws-ofi-nccl and libfabric into the image: without them NCCL "
          "falls back to TCP silently"};
}

Cause cause_of_unusable(const FabricPodState& state, const std::string& seen) {
  const std::string text = "no adapter is usable (" + seen + ")";
  if (every_port(state, with_role("foreign"))) {
    return {"rdma_unusable", text,
            "give the pod an interface of the adapter, with an address: a "
            "macvlan, SR-IOV or host-device network in the annotation "
            "k8s.v1.cni.cncf.io/networks"};
  }
  if (every_port(state, with_role("front end"))) {
    return {"rdma_no_hca", "the machine has no RDMA network (" + seen + ")",
            "place the job on machines with InfiniBand (Azure: ND, HB and HC)"};
  }
  if (every_port(state, with_role("not for NCCL"))) {
    return {"rdma_unusable", text,
            "load Intel's irdma in RoCE mode (roce_ena=1); adapters that speak "
            "iWARP only are for TCP"};
  }
  const bool step_known =
      any_port(state, [](auto& view) { return !view.hca->fails_at.empty(); });
  return {"rdma_unusable", text,
          step_known
              ? "check driver and firmware of the adapter on the node: "
                "the step fails without NCCL or MPI too"
              : "`muster fabric show` in the pod names the failing step"};
}

Cause cause_of_ports(const FabricPodState& state) {
  const std::string seen = roles_of(state);
  if (every_port(state, with_role("down"))) {
    return {"rdma_port_down", "no adapter port is active (" + seen + ")",
            "check cable, switch and subnet manager of the node"};
  }
  if (every_port(state, with_role("not given"))) {
    return {"rdma_not_given",
            "the adapters are on the node, but not in the pod (" + seen + ")",
            how_to_ask(efas_seen(state))};
  }
  if (any_port(state, failed_with("ENOMEM", "allocate memory"))) {
    return {"rdma_memlock", "memory cannot be locked (" + seen + ")",
            "raise the memlock limit of the container runtime, or add "
            "capability IPC_LOCK"};
  }
  if (any_port(state, failed_with("EACCES", "ermission denied")) ||
      any_port(state, failed_with("EPERM", "not permitted"))) {
    return {"rdma_not_given", "the devices cannot be opened (" + seen + ")",
            how_to_ask(efas_seen(state))};
  }
  if (any_port(state, needs_ofi)) return cause_of_ofi(state);
  return cause_of_unusable(state, seen);
}

std::string rate_text(const FabricPodState& pod) {
  for (const LinkKind kind : {LinkKind::kInfiniBand, LinkKind::kRoce,
                              LinkKind::kEfa, LinkKind::kSlingshot}) {
    const double rate = total_rate(pod.ports, kind);
    if (rate > 0) {
      return gbps_text(rate) + " of " + std::string(link_kind_name(kind));
    }
  }
  return "";
}

// One pod with known GPUs: the path between them needs no adapter.
bool stays_inside(const FabricJob& job, const FabricPodState& pod) {
  return job.pods.size() < 2 && !pod.facts->hcas && pod.facts->gpus &&
         !pod.facts->gpus->empty();
}

void report_unknown(FabricJob& job, const FabricPodState& pod) {
  const auto port =
      std::find_if(pod.ports.begin(), pod.ports.end(), [](auto& view) {
        return view.usable && view.kind == LinkKind::kUnknown;
      });
  const std::string missing =
      port == pod.ports.end() ? "which RDMA adapters there are"
                              : "whether " + port->name() +
                                    " is InfiniBand or Ethernet (link_layer)";
  const bool inside = stays_inside(job, pod);
  report(job, &pod,
         {job.profile == Profile::kRdma ? Severity::kError
          : inside                      ? Severity::kInfo
                                        : Severity::kWarning,
          "fabric_unknown",
          "the facts do not say " + missing +
              (inside ? "; one pod by itself does without"
                      : "; nothing is decided for it"),
          "", "run `muster fabric show` in the pod"});
}

}  // namespace

void explain_absence(FabricJob& job) {
  const bool wanted_tcp = job.profile == Profile::kTcp;
  const bool required = job.profile == Profile::kRdma;
  std::string idle;  // adapters of other pods that the job cannot use
  for (const FabricPodState& pod : job.pods) {
    if (!pod.offers.empty() && idle.empty()) idle = rate_text(pod);
  }
  for (FabricPodState& pod : job.pods) {
    if (!pod.offers.empty() || pod.unknown || wanted_tcp) continue;
    // A launcher among workers: the workers do not need what it lacks.
    if (pod.mpi_only() && pod.ports.empty() && !job.mpi_only() && !required) {
      continue;
    }
    const Cause cause =
        pod.ports.empty() ? cause_of_no_hca(pod) : cause_of_ports(pod);
    pod.absent = cause.text;
    // A cluster of CPUs without RDMA is as intended: TCP is all it has.
    const bool expected =
        !required && job.mpi_only() && cause.code == "rdma_no_hca";
    std::string text = std::string("RDMA network not detected") +
                       (required   ? ", and the profile demands it"
                        : expected ? ": MPI uses TCP"
                                   : ". Performance may be degraded") +
                       ". Cause: " + cause.text;
    if (!idle.empty()) text += ". Other pods leave " + idle + " idle";
    report(job, &pod,
           {required   ? Severity::kError
            : expected ? Severity::kInfo
                       : Severity::kWarning,
            cause.code, text, roles_of(pod), cause.remedy});
  }
  for (const FabricPodState& pod : job.pods) {
    if (pod.unknown && !pod.tcp_by_user) report_unknown(job, pod);
  }
}

}  // namespace muster
