// SPDX-License-Identifier: Apache-2.0
// lint_mpi(): variables of UCX and Intel MPI that name things the pod lacks, or
// exclude each other. Sources: UCX FAQ and ucp_context.c, Intel MPI reference.
// Pure.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/libfabric.h"
#include "fabric/policy/network/ucx.h"
#include "fabric/policy/user_text.h"

namespace muster {

namespace {

bool has(const std::vector<std::string>& list, const char* word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// UCX takes an adapter without its port since 1.21 only. Unknown without UCX's
// version.
Known needs_port(const FabricLibrary& ucx) {
  const auto version = parse_nccl_version(ucx.version);
  if (!version) return std::nullopt;
  return *version < NcclVersion{1, 21, 0};
}

// Why MPI has only UCX to reach the other pods; "" if it may have more.
// libfabric's provider mlx is UCX.
std::string only_ucx(const FabricPodState& pod) {
  if (value_of(pod, "OMPI_MCA_pml") == "ucx") return "with OMPI_MCA_pml=ucx";
  if (pod.facts->mpi.family != "intel") return "";
  for (const char* name : {"I_MPI_OFI_PROVIDER", "FI_PROVIDER"}) {
    const std::string value = value_of(pod, name);
    if (value == "mlx") return std::string("with ") + name + "=mlx";
    if (!value.empty()) return "";
  }
  const auto& providers = pod.facts->libfabric.providers;
  const bool mlx =
      providers && !providers->empty() &&
      std::all_of(providers->begin(), providers->end(),
                  [](auto& provider) { return provider.name == "mlx"; });
  return mlx ? "with libfabric's mlx alone" : "";
}

// UCX finds no device of the list, for certain.
bool ucx_without_device(const FabricPodState& pod,
                        const std::vector<std::string>& entries) {
  return pod.facts->netdevs &&
         std::none_of(entries.begin(), entries.end(), [&](auto& entry) {
           const size_t colon = entry.find(':');
           const bool bare = colon == std::string::npos;
           if (find_hca(*pod.facts, entry.substr(0, colon)) != nullptr) {
             return !bare || !yes(needs_port(pod.facts->ucx));
           }
           return find_netdev(*pod.facts, entry) != nullptr;
         });
}

void lint_ucx_devices(FabricJob& job, const FabricPodState& pod) {
  const std::string value = value_of(pod, "UCX_NET_DEVICES");
  if (value.empty() || value == "all" || !pod.facts->hcas) return;
  const auto there = [&](const std::string& entry) {
    return find_hca(*pod.facts, entry.substr(0, entry.find(':'))) != nullptr ||
           find_netdev(*pod.facts, entry) != nullptr;
  };
  const auto entries = entries_of(value);
  const std::string only = only_ucx(pod);
  if (job.pods.size() > 1 && !value.starts_with('^') && !only.empty() &&
      ucx_without_device(pod, entries)) {
    const bool any = std::any_of(entries.begin(), entries.end(), there);
    report(job, &pod,
           {Severity::kError, "lint_ucx_devices",
            "UCX_NET_DEVICES=" + value +
                (any ? ": UCX before 1.21 knows an adapter by name and port "
                       "only, and "
                     : ": none of them is in this pod, and ") +
                only + " there is no other way to the other pods",
            "",
            any ? "UCX_NET_DEVICES=" + entries[0] + ":1"
                : "device names differ between nodes: give each pod its own "
                  "list, or none"});
    return;
  }
  for (const std::string& entry : entries) {
    const std::string name = entry.substr(0, entry.find(':'));
    const FabricHca* hca = find_hca(*pod.facts, name);
    if (hca != nullptr && name == entry && !no(needs_port(pod.facts->ucx))) {
      lint_warn(job, pod, "lint_ucx_devices",
                "UCX_NET_DEVICES=" + value + ": UCX before 1.21 wants " + name +
                    " with its port and says that it is not available",
                "UCX_NET_DEVICES=" + name + ":1");
    }
    if (there(entry) || (!pod.facts->netdevs && name == entry)) continue;
    lint_warn(job, pod, "lint_ucx_devices",
              "UCX_NET_DEVICES: there is no " + entry + " in this pod",
              "device names differ between nodes: give each pod its own list");
  }
}

bool is_rdma(const std::string& transport) {
  static const std::set<std::string> kRdma = {
      "rc",      "rc_x", "rc_v", "rc_mlx5", "ud", "ud_x",     "ud_v",
      "ud_mlx5", "dc",   "dc_x", "dc_mlx5", "ib", "rc_verbs", "ud_verbs"};
  return kRdma.contains(transport);
}

// Transports of one network, devices of the other.
void lint_ucx_contradiction(FabricJob& job, const FabricPodState& pod,
                            const std::string& transports) {
  const std::string devices = value_of(pod, "UCX_NET_DEVICES");
  if (devices.empty() || devices == "all" || devices.starts_with('^')) return;
  const auto entries = entries_of(devices);
  const auto all = [&](auto test) {
    return std::all_of(entries.begin(), entries.end(), [&](auto& entry) {
      return test(entry.substr(0, entry.find(':')));
    });
  };
  const auto names = entries_of(transports);
  const bool tcp = has(names, "tcp");
  const bool rdma = std::any_of(names.begin(), names.end(), is_rdma);
  const bool wrong = (tcp && !rdma && all([&](const std::string& name) {
                        return find_hca(*pod.facts, name) != nullptr;
                      })) ||
                     (rdma && !tcp && all([&](const std::string& name) {
                        return find_netdev(*pod.facts, name) != nullptr;
                      }));
  if (!wrong || entries.empty()) return;
  lint_warn(job, pod, "lint_ucx_devices",
            "UCX_NET_DEVICES=" + devices + " names " +
                (tcp ? "adapters" : "interfaces") +
                ", and UCX_TLS=" + transports + " allows " +
                (tcp ? "TCP" : "RDMA") + " only: UCX has no device to use",
            tcp ? "name interfaces such as eth0, or allow rc"
                : "name adapters with their port, or allow tcp");
}

// sockcm and rdmacm make connections and carry no messages.
bool stays_in_pod(const std::string& transport) {
  static const std::set<std::string> kLocal = {
      "self",    "sm",        "shm",      "mm",       "posix",
      "sysv",    "cma",       "knem",     "xpmem",    "cuda",
      "rocm",    "cuda_copy", "cuda_ipc", "gdr_copy", "rocm_copy",
      "ze_copy", "rocm_ipc",  "ze_ipc",   "sockcm",   "rdmacm"};
  return kLocal.contains(transport);
}

void lint_ucx_transports(FabricJob& job, const FabricPodState& pod) {
  const std::string value = value_of(pod, "UCX_TLS");
  if (value.empty() || value == "all" || value.starts_with('^')) return;
  const auto listed = entries_of(value);
  if (job.pods.size() > 1 &&
      std::all_of(listed.begin(), listed.end(), stays_in_pod)) {
    return lint_warn(job, pod, "lint_ucx_tls",
                     "UCX_TLS=" + value +
                         " names no network: UCX reaches processes of this "
                         "pod only",
                     "remove it, or add rc or tcp");
  }
  bool any_rdma = false;
  bool other_network = false;
  for (const std::string& entry : entries_of(value)) {
    any_rdma = any_rdma || is_rdma(entry);
    other_network = other_network || entry == "tcp" || entry == "all" ||
                    entry.starts_with("srd");
  }
  const bool without =
      job.transport == FabricTransport::kTcp || job.uses_libfabric();
  lint_ucx_contradiction(job, pod, value);
  if (!any_rdma || other_network || !without || job.pods.size() < 2) return;
  lint_warn(job, pod, "lint_ucx_tls",
            "UCX_TLS=" + value +
                " allows adapters of InfiniBand and RoCE "
                "only, and the job has none to use: UCX cannot reach the peers",
            "remove it, or add tcp");
}

// The list by which Open MPI knows that UCX has a network lacked ud_mlx5
// (openucx/ucx#7392; opal/mca/common/ucx/common_ucx.c since 4.1.2).
void lint_unknown_to_open_mpi(FabricJob& job, const FabricPodState& pod) {
  const auto version = parse_nccl_version(pod.facts->mpi.version);
  if (pod.facts->mpi.family != "openmpi" || !version ||
      *version >= NcclVersion{4, 1, 2} || job.pods.size() < 2 ||
      !value_of(pod, "OMPI_MCA_pml_ucx_tls").empty() ||
      !value_of(pod, "OMPI_MCA_opal_common_ucx_tls").empty()) {
    return;
  }
  const std::string value = value_of(pod, "UCX_TLS");
  if (value.starts_with('^')) return;
  const auto entries = entries_of(value);
  const auto rdma = [](auto& entry) { return is_rdma(entry); };
  const bool alone =
      std::any_of(entries.begin(), entries.end(), rdma) &&
      std::all_of(entries.begin(), entries.end(), [&](auto& entry) {
        return !is_rdma(entry) || entry == "ud_mlx5" || entry == "ud_x";
      });
  if (!alone) return;
  lint_warn(job, pod, "lint_ucx_tls",
            "UCX_TLS=" + value +
                ": Open MPI before 4.1.2 does not know "
                "ud_mlx5 for a network and passes UCX over",
            "write ud, or add rc");
}

// UCX takes the index on InfiniBand, too, where NCCL asks for none; it does not
// open a port whose entry there is empty (uct_ib_device_query_gid).
void lint_infiniband_index(FabricJob& job, const FabricPodState& pod,
                           const std::string& value) {
  const auto index = parse_integer(value);
  if (job.transport != FabricTransport::kInfiniBand || !index || *index < 1 ||
      ucx_on_tcp(*pod.facts)) {
    return;
  }
  for (const PortView& view : pod.ports) {
    if (!view.chosen || !view.port->gids) continue;
    const auto& gids = *view.port->gids;
    const bool there = std::any_of(gids.begin(), gids.end(), [&](auto& gid) {
      return gid.index == *index;
    });
    if (there) continue;
    lint_warn(job, pod, "lint_gid_index",
              "UCX_IB_GID_INDEX=" + value + " is for RoCE: " + view.name() +
                  " is InfiniBand and has no address there, and UCX does "
                  "not open such a port",
              "remove it");
    return;
  }
}

void lint_intel_mpi(FabricJob& job, const FabricPodState& pod) {
  const std::string value = to_lower(value_of(pod, "I_MPI_FABRICS"));
  if (value.empty()) return;
  for (const char* known : {"shm", "ofi", "shm:ofi"}) {
    if (value == known) return;
  }
  const auto version = parse_nccl_version(pod.facts->mpi.version);
  if (version && *version < NcclVersion{2019, 0, 0}) return;
  lint_warn(job, pod, "lint_intel_fabrics",
            "I_MPI_FABRICS=" + value +
                " is of Intel MPI 2018 and older: since 2019 there are shm, "
                "ofi and shm:ofi",
            "I_MPI_FABRICS=shm:ofi, and I_MPI_OFI_PROVIDER for the network");
}

}  // namespace

void lint_mpi(FabricJob& job, FabricPodState& pod) {
  lint_ucx_devices(job, pod);
  lint_ucx_transports(job, pod);
  lint_unknown_to_open_mpi(job, pod);
  const std::string index = value_of(pod, "UCX_IB_GID_INDEX");
  lint_gid_index(job, pod, "UCX_IB_GID_INDEX", index, true);
  lint_infiniband_index(job, pod, index);
  lint_intel_mpi(job, pod);
}

}  // namespace muster
