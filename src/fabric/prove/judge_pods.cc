// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>

#include "base/text.h"
#include "fabric/policy/policy.h"
#include "fabric/prove/judge_parts.h"

namespace muster {

namespace {

constexpr int64_t kEnoughMemlock = 64LL << 20;

void judge_missing(const JobCheck& check, Findings& out) {
  for (const CheckedPod& pod : check.pods) {
    if (pod.missing_code.empty()) continue;
    const bool name = pod.missing_code.starts_with("dns");
    out.push_back({Severity::kError, name ? "name_missing" : "pod_missing",
                   name ? "the name " + pod.name + " is not in DNS"
                        : "nothing answers in " + pod.name,
                   pod.missing_text,
                   name ? "is the pod running and ready, and does the headless "
                          "service select it?"
                        : "`muster launch` says more about this"});
  }
}

void judge_names(const JobCheck& check, Findings& out) {
  std::map<std::string, std::vector<std::string>> blind;  // name -> pods
  for (const CheckedPod& pod : check.pods) {
    for (const std::string& name : pod.unresolved) {
      blind[name].push_back(pod.name);
    }
  }
  for (const auto& [name, pods] : blind) {
    out.push_back({Severity::kError, "name_missing",
                   std::to_string(pods.size()) + " of " +
                       std::to_string(check.pods.size()) +
                       " pods do not find the name " + name,
                   "asked in " + pods.front(),
                   "check the pod's resolv.conf and the cluster's DNS"});
  }
}

bool has_rdma(const PodFabric& pod) {
  return yes(pod.uverbs) || (pod.hcas && !pod.hcas->empty());
}

int64_t usual_memlock(const JobCheck& check) {
  std::vector<int64_t> known;
  for (const CheckedPod& pod : check.pods) {
    const int64_t bytes = pod.facts.memlock_bytes;
    if (bytes >= -1) known.push_back(bytes < 0 ? INT64_MAX : bytes);
  }
  std::sort(known.begin(), known.end());
  return known.empty() ? 0 : known[known.size() / 2];
}

void judge_memlock(const JobCheck& check, Findings& out) {
  const int64_t usual = usual_memlock(check);
  for (const CheckedPod& pod : check.pods) {
    const int64_t bytes = pod.facts.memlock_bytes;
    if (bytes < 0 || bytes >= kEnoughMemlock) continue;
    // Without RDMA it only matters as a pod that is unlike the others.
    const bool odd = bytes < usual / 2;
    if (!has_rdma(pod.facts) && !odd) continue;
    out.push_back(
        {Severity::kError, "limits",
         pod.name + " may lock only " +
             human_bytes(static_cast<uint64_t>(bytes)) +
             " of memory, RDMA will fail there",
         odd ? "the other pods may lock more" : "RLIMIT_MEMLOCK",
         "raise memlock in the container runtime of its node, or add the "
         "capability IPC_LOCK"});
  }
}

const FabricNetdev* interface_of(const CheckedPod& pod) {
  if (!pod.facts.netdevs) return nullptr;
  for (const FabricNetdev& device : *pod.facts.netdevs) {
    for (const std::string& address : device.addresses) {
      if (address.substr(0, address.find('/')) == pod.address) return &device;
    }
  }
  return nullptr;
}

void judge_mtu(const JobCheck& check, Findings& out) {
  std::map<int, size_t> counts;
  for (const CheckedPod& pod : check.pods) {
    const FabricNetdev* device = interface_of(pod);
    if (device != nullptr && device->mtu > 0) ++counts[device->mtu];
  }
  if (counts.size() < 2) return;
  const auto usual =
      std::max_element(counts.begin(), counts.end(),
                       [](auto& a, auto& b) { return a.second < b.second; });
  for (const CheckedPod& pod : check.pods) {
    const FabricNetdev* device = interface_of(pod);
    if (device == nullptr || device->mtu <= 0 || device->mtu == usual->first) {
      continue;
    }
    out.push_back({Severity::kWarning, "mtu_differs",
                   "MTU of " + device->name + " in " + pod.name + " is " +
                       std::to_string(device->mtu) + ", most pods have " +
                       std::to_string(usual->first),
                   "interface that has " + pod.address,
                   "make the MTU equal in the network's configuration"});
  }
}

void judge_agreement(const JobCheck& check, Findings& out) {
  std::vector<PodFabric> facts;
  for (const CheckedPod& pod : check.pods) {
    // A pod without a name was not looked at.
    if (!pod.launcher && !pod.facts.name.empty()) facts.push_back(pod.facts);
  }
  const FabricPlan plan = plan_fabric(facts, check.request);
  for (const Finding& finding : plan.findings) {
    if (finding.severity != Severity::kInfo) out.push_back(finding);
  }
}

}  // namespace

void judge_pods(const JobCheck& check, Findings& out) {
  judge_missing(check, out);
  judge_names(check, out);
  judge_memlock(check, out);
  judge_mtu(check, out);
  judge_agreement(check, out);
}

}  // namespace muster
