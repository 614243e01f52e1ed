// SPDX-License-Identifier: Apache-2.0
// Reports counters that grew in a pod while the test ran. They do not decide
// the exit class: lossy traffic that works is a finding, not a failure.
#include "fabric/prove/judge_parts.h"

namespace muster {

void judge_counters(const JobCheck& check, Findings& out) {
  for (const CheckedPod& pod : check.pods) {
    if (pod.grown.empty()) continue;
    const bool loss = counters_tell_loss(pod.grown);
    out.push_back(
        {loss ? Severity::kWarning : Severity::kInfo,
         loss ? "counters_loss" : "counters_congestion",
         loss
             ? "packets were lost or broken at " + pod.name + " during the test"
             : "the fabric held " + pod.name + " back during the test",
         counters_text(pod.grown),
         loss ? "cable, optics, MTU, a rate limit, or a RoCE class that is not "
                "lossless (PFC, ECN)"
              : "congestion marks are normal under full load; see who else "
                "uses the fabric"});
  }
}

}  // namespace muster
