// SPDX-License-Identifier: Apache-2.0
// lint_open_mpi(): components, interfaces and collectives of Open MPI that the
// pod lacks, that exclude each other, or that go where the user's other
// settings do not. Source: Open MPI btl_tcp_component.c. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/open_mpi.h"
#include "fabric/policy/network/ucx.h"
#include "fabric/policy/user_text.h"

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

// Open MPI's UCX component wants an mlx adapter, or a setting.
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
// there unless allowed (open-mpi/ompi#6300 and the text of its help).
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

// The user sends point to point over TCP.
bool messages_on_tcp(const FabricJob& job, const FabricPodState& pod) {
  return ucx_on_tcp(*pod.facts) || open_mpi_on_tcp(job, *pod.facts);
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

// The list takes the place of Open MPI's own, and bridges of containers and
// guests have one address on every machine.
void lint_bridges_left_in(FabricJob& job, const FabricPodState& pod,
                          const std::string& exclude) {
  const bool tcp = job.transport == FabricTransport::kTcp ||
                   open_mpi_on_tcp(job, *pod.facts);
  if (exclude.empty() || !tcp || job.pods.size() < 2) return;
  const auto left = bridges_left_in(*pod.facts, exclude);
  if (left.empty()) return;
  lint_warn(
      job, pod, "lint_bridge_left_in",
      "OMPI_MCA_btl_tcp_if_exclude=" + exclude + " leaves " + join(left, ", ") +
          " in: Open MPI offers that address to the peers, which have "
          "it themselves or do not reach it, and hangs",
      "add " + join(left, ",") + " to the list, or use btl_tcp_if_include");
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
  lint_bridges_left_in(job, pod, exclude);
  if (include.empty() || !pod.facts->netdevs) return;
  for (const std::string& entry : entries_of(include)) {
    if (means_interface(*pod.facts, entry)) continue;
    lint_warn(job, pod, "lint_missing_name",
              "OMPI_MCA_btl_tcp_if_include: " + entry +
                  " is not an interface or network of this pod",
              "names differ between nodes: a network such as 10.0.0.0/16 is "
              "the same everywhere");
  }
}

// HCOLL's collectives have a way of their own to the adapters, which neither
// pml and btl nor UCX_TLS takes from them (open-mpi/ompi#7388, #11087).
void lint_hcoll(FabricJob& job, const FabricPodState& pod) {
  if (job.pods.size() < 2 || !job.uses_verbs() || !shows_hcoll(*pod.facts) ||
      !messages_on_tcp(job, pod)) {
    return;
  }
  for (const FabricSetting& setting : pod.plan.settings) {
    if (setting.name == kHcollSwitch) return;
  }
  // A user who sets others of its variables has looked at it.
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
  // On InfiniBand it usually finds its way by itself.
  const bool roce = job.transport == FabricTransport::kRoce;
  report(job, &pod,
         {roce ? Severity::kWarning : Severity::kInfo, "lint_hcoll",
          "messages are kept on TCP, and HCOLL's collectives still go over the "
          "adapters: where these do not connect, jobs fail in MPI_Init or hang",
          "open-mpi/ompi#7388, #11087", std::string(kHcollSwitch) + "=0"});
}

}  // namespace

void lint_open_mpi(FabricJob& job, FabricPodState& pod) {
  lint_open_mpi_btl(job, pod);
  lint_open_mpi_pml(job, pod);
  lint_without_ucx(job, pod);
  lint_open_mpi_interfaces(job, pod);
  lint_hcoll(job, pod);
}

}  // namespace muster
