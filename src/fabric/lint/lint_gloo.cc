// SPDX-License-Identifier: Apache-2.0
// lint_gloo(): GLOO_SOCKET_IFNAME, which frameworks set beside NCCL's list and
// often to the same value. Gloo compares whole names, separated by commas, and
// ends the program if there is no such interface (pytorch ProcessGroupGloo,
// gloo transport/tcp/device.cc; aws-samples/aws-do-eks#51). Pure.

#include "base/text.h"
#include "fabric/lint/lint.h"

namespace muster {

namespace {

constexpr const char* kName = "GLOO_SOCKET_IFNAME";

// The error of one name; "" if none.
std::string trouble_with(const FabricPodState& pod, const std::string& name,
                         bool alone) {
  if (name.starts_with('^') || name.starts_with('=')) {
    return "Gloo takes names only, ^ and = are NCCL's";
  }
  if (name == "lo" && !alone) return "other pods do not reach lo";
  if (!pod.facts->netdevs) return "";
  std::string longer;
  for (const FabricNetdev& netdev : *pod.facts->netdevs) {
    if (netdev.name == name) {
      return netdev.addresses.empty() ? name + " has no address" : "";
    }
    if (netdev.name.starts_with(name)) longer = netdev.name;
  }
  return longer.empty()
             ? "there is no interface " + name + " in the pod"
             : "Gloo takes no prefix, and the interface is called " + longer;
}

}  // namespace

void lint_gloo(FabricJob& job, FabricPodState& pod) {
  const auto users = pod.facts->environment.find(kName);
  if (users == pod.facts->environment.end() || users->second.empty()) return;
  for (const auto name : split(users->second, ',')) {
    const std::string trouble =
        trouble_with(pod, std::string(name), job.pods.size() < 2);
    if (trouble.empty()) continue;
    lint_warn(job, pod, "lint_gloo_interface",
              std::string(kName) + "=" + users->second + ": " + trouble +
                  "; the program ends where it starts Gloo",
              pod.primary.name.empty()
                  ? "name the pods' own interface in full"
                  : std::string(kName) + "=" + pod.primary.name);
    return;
  }
}

}  // namespace muster
