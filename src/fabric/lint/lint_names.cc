// SPDX-License-Identifier: Apache-2.0
// lint_names(): variables of other programs of a job that name what the pod
// should have: interfaces, adapters, and addresses at which ranks meet. Each
// program reads its list in its own way; none of them says which pod lacks the
// name. Where the facts do not list interfaces or adapters nothing is said.
// Sources: PyTorch tensorpipe_agent, horovod/common/gloo, Open MPI
// prrte_if_include, libfabric fi_tcp(7) and fi_verbs(7), Intel MPI reference,
// oneCCL internal_kvs, NVSHMEM environment variables, HCOLL and MVAPICH2
// guides, vLLM and torchrun documentation. Pure.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/user_text.h"

namespace muster {

namespace {

enum class Kind {
  kInterfaces,        // whole names
  kInterfacesOrNets,  // or networks, 10.0.0.0/16
  kInterfaceList,     // as NCCL reads its own
  kAdapters,          // "mlx5_0:1,mlx5_1"
  kAdapterList,       // as NCCL reads its own
  kAdaptersByColon,   // "mlx5_0:mlx5_1"
};

struct NamedVariable {
  const char* name;
  Kind kind;
  const char* of;  // the program
};

constexpr NamedVariable kVariables[] = {
    {"TP_SOCKET_IFNAME", Kind::kInterfaces, "PyTorch's TensorPipe"},
    {"HOROVOD_GLOO_IFACE", Kind::kInterfaces, "Horovod"},
    {"UCXPY_IFNAME", Kind::kInterfaces, "UCX-Py"},
    {"FI_TCP_IFACE", Kind::kInterfaces, "libfabric"},
    {"FI_SOCKETS_IFACE", Kind::kInterfaces, "libfabric"},
    {"I_MPI_HYDRA_IFACE", Kind::kInterfaces, "Intel MPI"},
    {"HYDRA_IFACE", Kind::kInterfaces, "MPICH's launcher"},
    {"OMPI_MCA_oob_tcp_if_include", Kind::kInterfacesOrNets, "Open MPI"},
    {"PRTE_MCA_oob_tcp_if_include", Kind::kInterfacesOrNets, "Open MPI"},
    {"PRTE_MCA_prte_if_include", Kind::kInterfacesOrNets, "Open MPI"},
    {"CCL_KVS_IFACE", Kind::kInterfaceList, "oneCCL"},
    {"HCCL_SOCKET_IFNAME", Kind::kInterfaceList, "HCCL"},
    {"NCCL_OOB_NET_IFNAME", Kind::kInterfaceList, "NCCL"},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", Kind::kInterfaceList, "NVSHMEM"},
    {"OMPI_MCA_btl_openib_if_include", Kind::kAdapters, "Open MPI"},
    {"HCOLL_MAIN_IB", Kind::kAdapters, "HCOLL"},
    {"HCOLL_IB_IF_INCLUDE", Kind::kAdapters, "HCOLL"},
    {"MXM_RDMA_PORTS", Kind::kAdapters, "MXM"},
    {"NVSHMEM_HCA_PE_MAPPING", Kind::kAdapters, "NVSHMEM"},
    {"NVSHMEM_HCA_LIST", Kind::kAdapterList, "NVSHMEM"},
    {"UCCL_IB_HCA", Kind::kAdapterList, "UCCL"},
    {"MV2_IBA_HCA", Kind::kAdaptersByColon, "MVAPICH2"},
};

bool of_adapters(Kind kind) {
  return kind == Kind::kAdapters || kind == Kind::kAdapterList ||
         kind == Kind::kAdaptersByColon;
}

std::vector<std::string> names_in(const PodFabric& pod, bool adapters) {
  std::vector<std::string> out;
  if (adapters && pod.hcas) {
    for (const FabricHca& hca : *pod.hcas) out.push_back(hca.name);
  }
  if (!adapters && pod.netdevs) {
    for (const FabricNetdev& netdev : *pod.netdevs) out.push_back(netdev.name);
  }
  return out;
}

bool has_network(const PodFabric& pod, const std::string& network) {
  return std::any_of(
      pod.netdevs->begin(), pod.netdevs->end(), [&](const auto& netdev) {
        return std::any_of(
            netdev.addresses.begin(), netdev.addresses.end(),
            [&](auto& own) { return address_in(bare_address(own), network); });
      });
}

// The names in `value` that the pod does not have.
std::vector<std::string> missing(const PodFabric& pod, Kind kind,
                                 const std::string& value) {
  const auto names = names_in(pod, of_adapters(kind));
  std::vector<std::string> out;
  if (kind == Kind::kInterfaceList || kind == Kind::kAdapterList) {
    const NameList list = parse_name_list(value);
    const bool any = list.exclude ||
                     std::any_of(names.begin(), names.end(), [&](auto& name) {
                       return admits(list, name);
                     });
    if (!any) out.push_back(value);
    return out;
  }
  std::string text = value;
  if (kind == Kind::kAdaptersByColon) {
    std::replace(text.begin(), text.end(), ':', ',');
  }
  for (const std::string& entry : entries_of(text)) {
    const std::string name =
        kind == Kind::kAdapters ? entry.substr(0, entry.find(':')) : entry;
    const bool there =
        std::find(names.begin(), names.end(), name) != names.end() ||
        (kind == Kind::kInterfacesOrNets && name.find('/') != name.npos &&
         has_network(pod, name));
    if (!there) out.push_back(entry);
  }
  return out;
}

void lint_variable(FabricJob& job, const FabricPodState& pod,
                   const NamedVariable& known) {
  const std::string value = value_of(pod, known.name);
  const bool adapters = of_adapters(known.kind);
  if (value.empty() || value.starts_with('^') ||
      names_in(*pod.facts, adapters).empty()) {
    return;
  }
  const auto lacking = missing(*pod.facts, known.kind, value);
  if (lacking.empty()) return;
  const std::string own = adapters || pod.primary.name.empty()
                              ? ""
                              : known.name + ("=" + pod.primary.name) + ", or ";
  lint_warn(job, pod, "lint_missing_name",
            known.name + ("=" + value) + " (" + known.of +
                "): the pod has no " + join(lacking, ", "),
            own + "names differ between nodes: give each pod its own");
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" ||
         address.starts_with("127.");
}

// torchrun's rendezvous: all ranks connect to that address. In one pod it may
// be lo: the first one's, as operators write it.
void lint_master(FabricJob& job, const FabricPodState& pod) {
  for (const char* name : {"MASTER_ADDR", "PET_MASTER_ADDR"}) {
    const std::string value = value_of(pod, name);
    const auto alike = std::count_if(
        job.pods.begin(), job.pods.end(),
        [&](auto& any) { return is_loopback(value_of(any, name)); });
    if (!is_loopback(value) || alike < 2) continue;
    lint_warn(job, pod, "lint_master_address",
              name + ("=" + value) +
                  ": each pod waits for the others at its own lo, which they "
                  "do not reach",
              "name the first pod, by its name or address");
  }
}

bool owns(const PodFabric& pod, const std::string& address) {
  return std::any_of(
      pod.netdevs->begin(), pod.netdevs->end(), [&](const auto& netdev) {
        return std::any_of(
            netdev.addresses.begin(), netdev.addresses.end(),
            [&](auto& own) { return bare_address(own) == address; });
      });
}

bool all_have_addresses(const PodFabric& pod) {
  return pod.netdevs && !pod.netdevs->empty() &&
         std::none_of(pod.netdevs->begin(), pod.netdevs->end(),
                      [](auto& netdev) {
                        return netdev.addresses.empty() && !no(netdev.up);
                      });
}

// The address of a serving process for the others.
void lint_own_address(FabricJob& job, const FabricPodState& pod) {
  for (const char* name : {"VLLM_HOST_IP", "SGLANG_HOST_IP"}) {
    const std::string value = value_of(pod, name);
    if (value.empty() || job.pods.size() < 2) continue;
    std::string why;
    if (is_loopback(value)) {
      why = "is an address of lo, over which no other pod is reached";
    } else if (all_have_addresses(*pod.facts) && !owns(*pod.facts, value)) {
      why = "is not an address of this pod";
    }
    if (why.empty()) continue;
    lint_warn(job, pod, "lint_own_address",
              name + ("=" + value) + " " + why + ": each pod needs its own",
              pod.primary.name.empty()
                  ? "take it from the pod's status (status.podIP)"
                  : "the address of " + pod.primary.name +
                        ", for example by status.podIP");
  }
}

}  // namespace

void lint_names(FabricJob& job, const FabricPodState& pod) {
  for (const NamedVariable& known : kVariables) lint_variable(job, pod, known);
  lint_master(job, pod);
  lint_own_address(job, pod);
}

}  // namespace muster
