// SPDX-License-Identifier: Apache-2.0
// GPUDirect-TCPX of Google's A3 High. Its values come with the vendor's profile
// script, whose interfaces are those of containers, eth0 for control and eth1
// to eth4 for data. On the hosts' network they have the kernel's names, which
// this sets. TCPXO (FasTrak) finds its own. Source: NVIDIA/JAX-Toolbox#716,
// gcp-autoconfig.sh; container-engine-accelerators gpudirect-tcpx. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

bool is_tcpx(const PodFabric& pod) {
  const auto plugin = find_plugin(pod, PluginKind::kTcpx);
  if (!plugin) return false;
  const std::string name =
      to_lower(plugin->plugin->network + " " + plugin->plugin->name);
  return name.find("tcpx") != std::string::npos &&
         name.find("tcpxo") == std::string::npos &&
         name.find("fastrak") == std::string::npos;
}

// The interfaces for data: all usable ones except the one for control.
std::vector<std::string> data_interfaces(const FabricPodState& pod) {
  std::vector<std::string> out;
  if (!pod.facts->netdevs) return out;
  for (const FabricNetdev& netdev : *pod.facts->netdevs) {
    const bool gvnic = netdev.driver.empty() || netdev.driver == "gve";
    if (netdev.name == pod.primary.name || !gvnic) continue;
    if (netdev_class(netdev) == NetdevClass::kUsable) {
      out.push_back(netdev.name);
    }
  }
  return out;
}

bool has_other_names(const FabricPodState& pod) {
  return is_tcpx(*pod.facts) && !pod.primary.name.empty() &&
         !pod.primary.name.starts_with("eth") && !data_interfaces(pod).empty();
}

void set_names(FabricJob& job, FabricPodState& pod) {
  const std::string& control = pod.primary.name;
  FabricSetting setting{"NCCL",
                        "NCCL_SOCKET_IFNAME",
                        "=" + control,
                        "GPUDirect-TCPX has interfaces of its own for control "
                        "and data, which are not called eth0 to eth4 here",
                        control + ": " + pod.primary.reason,
                        FabricConfidence::kLikely,
                        "NVIDIA/JAX-Toolbox#716, gcp-autoconfig.sh"};
  setting.alone = "NCCL's own order, or eth0 of the profile script";
  setting.rejected = {"eth0 of the profile script: the pod has none"};
  propose(job, pod, setting);
  setting.name = "NCCL_GPUDIRECTTCPX_CTRL_DEV";
  setting.value = control;
  propose(job, pod, setting);
  setting.name = "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME";
  setting.value = join(data_interfaces(pod), ",");
  setting.alone = "eth1 to eth4 of the profile script";
  setting.rejected = {control + " too: control would share it with data"};
  setting.tuning = true;  // in another order, or fewer
  propose(job, pod, setting);
}

}  // namespace

void set_tcpx(FabricJob& job) {
  if (job.transport != FabricTransport::kTcpx || job.profile == Profile::kRl) {
    return;
  }
  for (FabricPodState& pod : job.pods) {
    const bool names = has_other_names(pod);
    if (names) set_names(job, pod);
    report(job, &pod,
           {Severity::kInfo, "vendor_script",
            std::string("this network is set up by the vendor's "
                        "nccl-env-profile.sh; its guest checker refuses "
                        "deviating values, so nothing ") +
                (names ? "but the interfaces' names " : "") + "is set here",
            "", "source the profile script before the program"});
  }
}

}  // namespace muster
