// SPDX-License-Identifier: Apache-2.0
// Checks the user's own variables and never changes them. Skips variables that
// only other programs read, except Gloo's interface. Pure.
#include "fabric/lint/lint.h"

#include <algorithm>

#include "base/text.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/settings/nccl_variables.h"

namespace muster {

namespace {

void lint_debugging(FabricJob& job, FabricPodState& pod,
                    std::vector<std::string> names) {
  // If the vendor's script sets all of them, nobody should remove one.
  if (job.transport == FabricTransport::kTcpx) return;
  std::erase_if(names, [](const std::string& name) {
    const NcclVariable* known = find_nccl_variable(name);
    return known == nullptr || !known->debugging;
  });
  if (names.empty()) return;
  const bool one = names.size() == 1;
  report(job, &pod,
         {Severity::kInfo, "lint_debugging",
          join(names, ", ") +
              (one ? " is for debugging; the NCCL guide asks not to keep it in "
                   : " are for debugging; the NCCL guide asks not to keep "
                     "them in ") +
              "production",
          "NCCL guide, env.rst",
          one ? "remove it when its reason is gone"
              : "remove them when their reason is gone"});
}

void lint_prefixes(FabricJob& job, FabricPodState& pod) {
  for (const auto& [name, value] : pod.facts->environment) {
    const std::string meant = nccl_name_meant(name);
    if (meant.empty()) continue;
    lint_warn(job, pod, "lint_unknown_name",
              name + " is no NCCL variable and has no effect",
              "did you mean " + meant + "?");
  }
}

// Before 2.27 NCCL takes an empty value for none at all.
void lint_empty_plugin(FabricJob& job, FabricPodState& pod) {
  const auto users = pod.facts->environment.find("NCCL_NET_PLUGIN");
  if (users == pod.facts->environment.end() || !users->second.empty()) return;
  const auto loaded = loaded_plugin(*pod.facts);
  if (!loaded) return;
  lint_warn(job, pod, "lint_plugin_empty",
            "NCCL_NET_PLUGIN is empty, which NCCL before 2.27 takes for not "
            "set: it loads " +
                loaded->plugin->name,
            "NCCL_NET_PLUGIN=none");
}

}  // namespace

bool is_about_users_value(const Finding& finding) {
  return finding.code.starts_with("lint_") || finding.code == "topology_file";
}

void lint_users_values(FabricJob& job) {
  for (FabricPodState& pod : job.pods) {
    lint_open_mpi(job, pod);
    lint_mpi(job, pod);
    lint_libfabric(job, pod);
    lint_gloo(job, pod);
    lint_names(job, pod);
    lint_components(job, pod);
    lint_files(job, pod);
    lint_contradictions(job, pod);
    lint_spelling(job, pod);
    if (pod.mpi_only()) continue;  // its programs do not read NCCL's
    lint_prefixes(job, pod);
    lint_empty_plugin(job, pod);
    lint_amd(job, pod);
    lint_conf(job, pod);
    std::vector<std::string> read;  // by NCCL
    for (const std::string& name : effective_names(*pod.facts)) {
      if (!name.starts_with("NCCL_") || is_others_variable(name)) continue;
      if (trim(name).size() != name.size()) continue;  // lint_conf() said so
      const auto users = effective(*pod.facts, name);
      if (!users) continue;
      lint_value(job, pod, name, *users);
      lint_network(job, pod, name, *users);
      lint_comm_id(job, pod, name, *users);
      lint_costs(job, pod, name, *users);
      lint_lists(job, pod, name, users->value);
      read.push_back(name);
    }
    lint_debugging(job, pod, std::move(read));
  }
}

}  // namespace muster
