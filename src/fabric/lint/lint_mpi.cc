// SPDX-License-Identifier: Apache-2.0
// lint_mpi(): variables of UCX, Open MPI and Intel MPI that name what the pod
// has not, or exclude each other. Sources: UCX FAQ and ucp_context.c, Open MPI
// btl_tcp_component.c, Intel MPI reference. Pure.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "fabric/lint/lint.h"
#include "fabric/lint/user_text.h"
#include "fabric/policy/gids.h"
#include "fabric/policy/libfabric.h"
#include "fabric/policy/ucx.h"

namespace muster {

namespace {

bool has(const std::vector<std::string>& list, const char* word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

void lint_open_mpi_btl(FabricJob& job, const FabricPodState& pod) {
  const std::string value = value_of(pod, "OMPI_MCA_btl");
  if (value.empty() || value.starts_with('^')) return;
  const auto entries = entries_of(value);
  if (has(entries, "openib") && pod.facts->mpi.version.starts_with("5")) {
    lint_warn(job, pod, "lint_openib", "Open MPI 5 has no openib BTL",
              "InfiniBand and RoCE go through UCX: remove OMPI_MCA_btl");
  }
  if (!has(entries, "self")) {
    lint_warn(job, pod, "lint_btl_self",
              "OMPI_MCA_btl=" + value +
                  " leaves out self: a process cannot send to itself, and "
                  "Open MPI stops",
              "OMPI_MCA_btl=" + value + ",self");
  }
}

// Open MPI's UCX component wants an mlx adapter, or to be told otherwise.
void lint_open_mpi_pml(FabricJob& job, const FabricPodState& pod) {
  const std::string value = value_of(pod, "OMPI_MCA_pml");
  if (value != "ucx" || !pod.facts->hcas || !pod.facts->hcas->empty()) return;
  if (!value_of(pod, "OMPI_MCA_opal_common_ucx_tls").empty() ||
      !value_of(pod, "OMPI_MCA_pml_ucx_tls").empty()) {
    return;
  }
  lint_warn(job, pod, "lint_pml_ucx",
            "OMPI_MCA_pml=ucx: without an adapter for RDMA Open MPI does not "
            "select UCX, and stops (\"PML ucx cannot be selected\")",
            "remove it, or set OMPI_MCA_opal_common_ucx_tls=any and "
            "OMPI_MCA_opal_common_ucx_devices=any");
}

bool names_openib(const FabricPodState& pod) {
  const std::string btl = value_of(pod, "OMPI_MCA_btl");
  if (!btl.starts_with('^') && has(entries_of(btl), "openib")) return true;
  const auto& all = pod.facts->environment;
  return std::any_of(all.begin(), all.end(), [](auto& variable) {
    return variable.first.starts_with("OMPI_MCA_btl_openib_if_");
  });
}

// Open MPI 4 leaves InfiniBand to UCX: its openib, which the user names, is off
// there unless it is allowed (open-mpi/ompi#6300 and the text of its help).
void lint_without_ucx(FabricJob& job, const FabricPodState& pod) {
  const std::string pml = value_of(pod, "OMPI_MCA_pml");
  const bool excluded = pml.starts_with('^') && has(entries_of(pml), "ucx");
  const std::string allowed =
      to_lower(value_of(pod, "OMPI_MCA_btl_openib_allow_ib"));
  if (job.transport != FabricTransport::kInfiniBand ||
      !pod.facts->mpi.version.starts_with("4.") ||
      (!excluded && pml != "ob1") || !names_openib(pod) ||
      (!allowed.empty() && allowed != "0" && allowed != "false")) {
    return;
  }
  lint_warn(job, pod, "lint_openib",
            "OMPI_MCA_pml=" + pml +
                " takes UCX away, to which Open MPI 4 leaves InfiniBand: "
                "openib is off there, and MPI goes over TCP",
            "remove OMPI_MCA_pml, or set OMPI_MCA_btl_openib_allow_ib=1");
}

// Whether an entry of btl_tcp_if_include or _exclude means something here.
bool means_interface(const PodFabric& pod, const std::string& entry) {
  if (entry.find('/') == std::string::npos) {
    return find_netdev(pod, entry) != nullptr;
  }
  for (const FabricNetdev& netdev : *pod.netdevs) {
    for (const std::string& address : netdev.addresses) {
      if (address_in(bare_address(address), entry)) return true;
    }
  }
  return false;
}

void lint_open_mpi_interfaces(FabricJob& job, const FabricPodState& pod) {
  const std::string include = value_of(pod, "OMPI_MCA_btl_tcp_if_include");
  const std::string exclude = value_of(pod, "OMPI_MCA_btl_tcp_if_exclude");
  if (!include.empty() && !exclude.empty()) {
    lint_warn(job, pod, "lint_if_both",
              "OMPI_MCA_btl_tcp_if_include and _if_exclude exclude each other: "
              "Open MPI stops using TCP",
              "keep btl_tcp_if_include");
  }
  if (!exclude.empty() && exclude.find("lo") == std::string::npos &&
      exclude.find("127.") == std::string::npos) {
    lint_warn(job, pod, "lint_readmits_lo",
              "OMPI_MCA_btl_tcp_if_exclude=" + exclude +
                  " replaces Open MPI's own exclusions: lo is offered to the "
                  "peers again",
              "add lo to the list, or use btl_tcp_if_include");
  }
  if (include.empty() || !pod.facts->netdevs) return;
  for (const std::string& entry : entries_of(include)) {
    if (means_interface(*pod.facts, entry)) continue;
    lint_warn(job, pod, "lint_missing_name",
              "OMPI_MCA_btl_tcp_if_include: " + entry +
                  " is no interface or network of this pod",
              "names differ between nodes: a network such as 10.0.0.0/16 is "
              "the same everywhere");
  }
}

// UCX takes an adapter without its port since 1.21 only. Unknown where nobody
// said which UCX it is.
Known needs_port(const FabricLibrary& ucx) {
  const auto version = parse_nccl_version(ucx.version);
  if (!version) return std::nullopt;
  return *version < NcclVersion{1, 21, 0};
}

// Why MPI has UCX and nothing else to reach the other pods by; "" if it may
// have. libfabric's provider mlx is UCX.
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

// Point to point goes over TCP by the user's will.
bool messages_on_tcp(const FabricPodState& pod) {
  if (ucx_on_tcp(*pod.facts)) return true;
  const std::string btl = value_of(pod, "OMPI_MCA_btl");
  const auto entries = entries_of(btl);
  return value_of(pod, "OMPI_MCA_pml") == "ob1" && !btl.starts_with('^') &&
         has(entries, "tcp") && !has(entries, "openib");
}

// HCOLL's collectives have a way of their own to the adapters, which neither
// pml and btl nor UCX_TLS takes from them (open-mpi/ompi#7388, #11087).
void lint_hcoll(FabricJob& job, const FabricPodState& pod) {
  if (job.pods.size() < 2 || !job.uses_verbs() || !shows_hcoll(*pod.facts) ||
      !messages_on_tcp(pod)) {
    return;
  }
  for (const FabricSetting& setting : pod.plan.settings) {
    if (setting.name == kHcollSwitch) return;
  }
  // Who sets others of its variables has looked at it.
  const auto& all = pod.facts->environment;
  if (std::any_of(all.begin(), all.end(), [](auto& variable) {
        return variable.first.starts_with("HCOLL_");
      })) {
    return;
  }
  const std::string enabled = to_lower(value_of(pod, kHcollSwitch));
  const std::string coll = value_of(pod, "OMPI_MCA_coll");
  const bool listed = has(entries_of(coll), "hcoll");
  if (enabled == "0" || enabled == "false" ||
      (!coll.empty() && coll.starts_with('^') == listed)) {
    return;
  }
  // On InfiniBand it finds its way by itself, as a rule.
  const bool roce = job.transport == FabricTransport::kRoce;
  report(job, &pod,
         {roce ? Severity::kWarning : Severity::kInfo, "lint_hcoll",
          "messages are kept on TCP, and HCOLL's collectives still go over the "
          "adapters: where these do not connect, jobs fail in MPI_Init or hang",
          "open-mpi/ompi#7388, #11087", std::string(kHcollSwitch) + "=0"});
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
  lint_open_mpi_btl(job, pod);
  lint_open_mpi_pml(job, pod);
  lint_without_ucx(job, pod);
  lint_open_mpi_interfaces(job, pod);
  lint_ucx_devices(job, pod);
  lint_ucx_transports(job, pod);
  lint_unknown_to_open_mpi(job, pod);
  lint_hcoll(job, pod);
  const std::string index = value_of(pod, "UCX_IB_GID_INDEX");
  lint_gid_index(job, pod, "UCX_IB_GID_INDEX", index, true);
  lint_intel_mpi(job, pod);
}

}  // namespace muster
