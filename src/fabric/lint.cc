// SPDX-License-Identifier: Apache-2.0
// The user's own NCCL variables, checked but never changed: names, ranges,
// versions, lists, and settings that have no effect where they stand. Pure.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "fabric/effective.h"
#include "fabric/gids.h"
#include "fabric/job_state.h"
#include "fabric/lint.h"
#include "fabric/nccl_variables.h"
#include "fabric/pci_distance.h"
#include "fabric/plugins.h"

namespace muster {

namespace {

void warn(FabricJob& job, const FabricPodState& pod, const char* code,
          std::string text, std::string remedy) {
  report(job, &pod,
         {Severity::kWarning, code, std::move(text), "", std::move(remedy)});
}

void lint_name_and_range(FabricJob& job, FabricPodState& pod,
                         const std::string& name, const EffectiveValue& users) {
  const NcclVariable* known = find_nccl_variable(name);
  if (known == nullptr) {
    const auto meant = nearest(name, nccl_variable_names());
    if (!meant) return;  // a plugin's own variable
    warn(job, pod, "lint_unknown_name",
         name + " is no NCCL variable and has no effect",
         "did you mean " + *meant + "?");
    return;
  }
  if (pod.version && *pod.version < known->since) {
    warn(job, pod, "lint_no_effect",
         name + " has no effect in NCCL " + pod.version->text() +
             ": it came with " + known->since.text(),
         "remove it, or use a newer NCCL");
  }
  if (known->high < known->low) return;
  const auto number = parse_integer(trim(users.value));
  if (number && *number >= known->low && *number <= known->high) return;
  warn(
      job, pod, "lint_range",
      name + "=" + users.value + " is outside " + std::to_string(known->low) +
          " to " +
          (known->high == INT64_MAX ? "any size" : std::to_string(known->high)),
      "NCCL ignores it or cuts it to the field's size");
}

void lint_levels(FabricJob& job, FabricPodState& pod, const std::string& name,
                 const EffectiveValue& users) {
  if (name != "NCCL_NET_GDR_LEVEL" && name != "NCCL_P2P_LEVEL") return;
  if (path_rank(users.value) >= 0 || parse_integer(users.value)) return;
  warn(job, pod, "lint_level",
       name + "=" + users.value +
           " is no path type: NCCL ignores it without a word",
       "LOC, NVL, PIX, PXB, PHB or SYS");
}

void lint_on_infiniband(FabricJob& job, FabricPodState& pod,
                        const std::string& name) {
  if (job.transport != FabricTransport::kInfiniBand) return;
  for (const char* roce_only :
       {"NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_IB_GID_INDEX",
        "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE",
        "NCCL_IB_ROCE_VERSION_NUM"}) {
    if (name != roce_only) continue;
    warn(job, pod, "lint_no_effect",
         name + " has no effect on InfiniBand: it is for RoCE",
         name == "NCCL_IB_TC" ? "NCCL_IB_SL chooses the service level there"
                              : "remove it");
  }
}

void lint_gid_index(FabricJob& job, FabricPodState& pod,
                    const std::string& name, const EffectiveValue& users) {
  if (name != "NCCL_IB_GID_INDEX" || job.transport != FabricTransport::kRoce)
    return;
  const auto index = parse_integer(trim(users.value));
  if (!index || *index < 0) return;
  for (const PortView& view : pod.ports) {
    if (!view.chosen || !view.port->gids) continue;
    bool right = false;
    for (const GidAddress kind :
         {GidAddress::kIpv4, GidAddress::kIpv6, GidAddress::kLinkLocal}) {
      for (const FabricGid* gid : usable_gids(*pod.facts, *view.port, kind)) {
        right = right || gid->index == *index;
      }
    }
    if (right) continue;
    warn(job, pod, "lint_gid_index",
         name + "=" + users.value + " is no usable RoCE v2 address of " +
             view.name(),
         pod.assumed_version() >= kGidScan
             ? "remove it: this NCCL finds the address itself"
             : "choose the index per pod");
    return;
  }
}

void lint_net(FabricJob& job, FabricPodState& pod, const std::string& name,
              const EffectiveValue& users) {
  if (name == "NCCL_IB_DISABLE" && switched_on(*pod.facts, name)) {
    const auto plugin = loaded_plugin(*pod.facts);
    if (plugin) {
      warn(job, pod, "lint_ib_disable_plugin",
           "NCCL_IB_DISABLE does not switch off the plugin " +
               plugin->plugin->name,
           plugin->kind == PluginKind::kIbExt
               ? "NCCL_IBEXT_DISABLE=1 or NCCL_NET=Socket does"
               : "NCCL_NET=Socket does");
    }
  }
  if (name == "NCCL_IGNORE_NET_MISMATCH" && users.value == "1") {
    warn(job, pod, "lint_net_mismatch",
         "NCCL_IGNORE_NET_MISMATCH=1 hides different adapters of two nodes, "
         "which hang later",
         "remove it; muster makes the pods agree");
  }
}

void lint_debugging(FabricJob& job, FabricPodState& pod,
                    const std::string& name) {
  const NcclVariable* known = find_nccl_variable(name);
  if (known == nullptr || !known->debugging) return;
  report(job, &pod,
         {Severity::kInfo, "lint_debugging",
          name + " is for debugging; the NCCL guide asks not to keep it in "
                 "production",
          "NCCL guide, env.rst", "remove it when its reason is gone"});
}

void lint_others(FabricJob& job, FabricPodState& pod) {
  const auto& environment = pod.facts->environment;
  for (const auto& [name, value] : environment) {
    if (job.transport == FabricTransport::kEfa && name.starts_with("RDMAV_")) {
      warn(job, pod, "lint_rdmav", name + " harms EFA",
           "remove it: FI_EFA_USE_HUGE_PAGE=0 is the setting for fork");
    }
    const bool openib =
        name == "OMPI_MCA_btl" && value.find("openib") != std::string::npos;
    if (openib && pod.facts->mpi.version.starts_with("5")) {
      warn(job, pod, "lint_openib", "Open MPI 5 has no openib BTL",
           "InfiniBand and RoCE go through UCX: remove OMPI_MCA_btl");
    }
  }
}

}  // namespace

void lint_users_values(FabricJob& job) {
  for (FabricPodState& pod : job.pods) {
    for (const std::string& name : effective_names(*pod.facts)) {
      if (!name.starts_with("NCCL_")) continue;
      const auto users = effective(*pod.facts, name);
      lint_name_and_range(job, pod, name, *users);
      lint_levels(job, pod, name, *users);
      lint_on_infiniband(job, pod, name);
      lint_gid_index(job, pod, name, *users);
      lint_net(job, pod, name, *users);
      lint_debugging(job, pod, name);
      lint_lists(job, pod, name, users->value);
    }
    lint_others(job, pod);
  }
}

}  // namespace muster
