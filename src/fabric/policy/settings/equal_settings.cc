// SPDX-License-Identifier: Apache-2.0
// Settings that both ends of an NCCL communicator must share, made equal under
// profile rl, where trainer and rollout come from different images: a value
// that only some pods have goes to the others. check_agreement() reports two
// values of users, which stay. Pure.
#include <set>

#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"

namespace muster {

void equalise(FabricJob& job) {
  if (job.profile != Profile::kRl || job.pods.size() < 2) return;
  for (const char* name :
       {"NCCL_CUMEM_ENABLE", "NCCL_CUMEM_HOST_ENABLE", "NCCL_NVLS_ENABLE",
        "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_ALGO", "NCCL_PROTO",
        "NCCL_MNNVL_ENABLE"}) {
    std::set<std::string> values;
    const FabricPodState* first = nullptr;
    for (const FabricPodState& pod : job.pods) {
      const auto users = effective(*pod.facts, name);
      if (!users) continue;
      values.insert(users->value);
      if (first == nullptr) first = &pod;
    }
    if (values.size() != 1) continue;
    for (FabricPodState& pod : job.pods) {
      if (effective(*pod.facts, name)) continue;
      FabricSetting setting{"NCCL",
                            name,
                            *values.begin(),
                            "other pods have this value, and both ends of a "
                            "communicator need the same",
                            "in " + first->plan.name,
                            FabricConfidence::kLikely,
                            "facts of RL frameworks: weight synchronisation "
                            "fails where the two sides differ"};
      setting.alone = "its default, unlike the others";
      setting.rejected = {"unset in all: the value is the user's"};
      propose(job, pod, setting);
    }
  }
}

}  // namespace muster
