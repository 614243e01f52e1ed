// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/job_state.h"

#include <algorithm>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/pci_distance.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/settings/nccl_variables.h"

namespace muster {

std::string_view transport_name(FabricTransport transport) {
  switch (transport) {
    case FabricTransport::kTcp:
      return "TCP";
    case FabricTransport::kInfiniBand:
      return "InfiniBand";
    case FabricTransport::kRoce:
      return "RoCE";
    case FabricTransport::kEfa:
      return "EFA";
    case FabricTransport::kSlingshot:
      return "Slingshot";
    case FabricTransport::kTcpx:
      return "GPUDirect-TCPX";
    case FabricTransport::kUnknown:
      break;
  }
  return "unknown";
}

void report(FabricJob& job, const FabricPodState* pod, Finding finding) {
  const std::string name = pod == nullptr ? "" : pod->plan.name;
  for (FabricJob::Seen& seen : job.findings) {
    if (seen.finding.code != finding.code ||
        seen.finding.text != finding.text) {
      continue;
    }
    const bool known =
        std::find(seen.pods.begin(), seen.pods.end(), name) != seen.pods.end();
    if (!known && !name.empty()) seen.pods.push_back(name);
    return;
  }
  FabricJob::Seen seen{std::move(finding), {}};
  if (!name.empty()) seen.pods.push_back(name);
  job.findings.push_back(std::move(seen));
}

namespace {

// A version that does not know the variable would ignore it. IBext has code of
// its own for NCCL_IB_ (lint_values.cc).
bool is_read(const FabricPodState& pod, const FabricSetting& setting) {
  const NcclVariable* known =
      find_nccl_variable(setting.name, has_amd_gpus(*pod.facts));
  if (known == nullptr || !pod.version || *pod.version >= known->since) {
    return true;
  }
  const auto plugin = loaded_plugin(*pod.facts);
  return plugin && plugin->kind == PluginKind::kIbExt &&
         setting.name.starts_with("NCCL_IB_");
}

// Some of the adapters of muster's list: a process may have its own.
bool some_of(const std::string& list, const std::string& users) {
  const std::string all = "," + list + ",";
  const auto entries = split(users, ',');
  return std::all_of(entries.begin(), entries.end(), [&](auto entry) {
    return all.find("," + std::string(trim(entry)) + ",") != all.npos;
  });
}

// Another spelling of the same: interfaces hsn and hsn0,hsn1; levels. Or as
// good.
bool same_meaning(const FabricPodState& pod, const FabricSetting& setting,
                  const EffectiveValue& users) {
  if (setting.name == "NCCL_NET_GDR_LEVEL") {
    return level_name(users.value) == level_name(setting.value);
  }
  if (setting.name == "UCX_NET_DEVICES") {
    return some_of(setting.value, users.value);
  }
  // Both watch the memory from the kernel: only memhooks deadlocks.
  if (setting.name == "FI_MR_CACHE_MONITOR") return users.value == "kdreg2";
  if (setting.name != "NCCL_SOCKET_IFNAME") return false;
  const auto version = pod.assumed_version();
  return nccl_interfaces(*pod.facts, version, users.value) ==
         nccl_interfaces(*pod.facts, version, setting.value);
}

}  // namespace

void propose(FabricJob& job, FabricPodState& pod, FabricSetting setting) {
  const auto same_name = [&](const auto& other) {
    return other.name == setting.name;
  };
  const bool in_use = setting.asked || !pod.mpi_only();
  if (setting.library == "NCCL" && (!in_use || !is_read(pod, setting))) return;
  auto& settings = pod.plan.settings;
  auto& kept = pod.plan.kept;
  if (std::any_of(settings.begin(), settings.end(), same_name)) return;
  if (std::any_of(kept.begin(), kept.end(), same_name)) return;
  const auto users = effective(*pod.facts, setting.name);
  if (!users) {
    settings.push_back(std::move(setting));
    return;
  }
  if (users->value != setting.value && !same_meaning(pod, setting, *users)) {
    report(job, &pod,
           {setting.tuning ? Severity::kInfo : Severity::kWarning,
            "user_value_kept",
            setting.name + "=" + users->value + " (" + users->origin +
                ") is kept; muster would set " + setting.value + ", because " +
                setting.reason,
            setting.evidence, "unset it to get " + setting.value});
  }
  setting.rejected.push_back(setting.value + ": the user's own value wins");
  setting.value = users->value;
  setting.reason = "set by the user";
  setting.evidence = users->origin;
  kept.push_back(std::move(setting));
}

std::string seen_for_tcp(const FabricJob& job, const FabricPodState& pod) {
  if (job.profile == Profile::kTcp) return "profile tcp";
  const auto seen_in = [](const FabricPodState& one) {
    return one.tcp_by_user ? one.ruled_out_by + " of the user" : one.absent;
  };
  if (const auto own = seen_in(pod); !own.empty()) return own;
  for (const FabricPodState& other : job.pods) {
    const auto seen = seen_in(other);
    if (!seen.empty()) return "in " + other.plan.name + ": " + seen;
  }
  return pod.ports.empty() ? "no adapter in the pod"
                           : "the pods have no network in common";
}

bool is_rail(const FabricPodState& pod, const std::string& netdev) {
  return std::any_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
    return port_netdev(*pod.facts, *view.port) == netdev;
  });
}

std::string port_subnet(const FabricPodState& pod, const PortView& view) {
  const FabricNetdev* netdev =
      find_netdev(*pod.facts, port_netdev(*pod.facts, *view.port));
  if (netdev == nullptr) return "";
  for (const std::string& address : netdev->addresses) {
    if (auto network = network_of(address); !network.empty()) return network;
  }
  return "";
}

std::set<std::string> chosen_subnets(const FabricPodState& pod) {
  std::set<std::string> out;
  for (const PortView& view : pod.ports) {
    if (!view.chosen) continue;
    const std::string subnet = port_subnet(pod, view);
    if (subnet.empty()) return {};
    out.insert(subnet);
  }
  return out;
}

}  // namespace muster
