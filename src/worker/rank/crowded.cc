// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/crowded.h"

#include <sched.h>

#include "worker/facts/facts_cgroup.h"

namespace muster {

bool crowded(int ranks) {
  const double quota = read_cpu_quota(find_cgroup(""));
  // As in job/placement_notes.h: one rank below one CPU is not crowded.
  if (quota > 0 && ranks > 1 && ranks > quota + 1e-3) return true;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return false;
  return ranks > CPU_COUNT(&set);
}

}  // namespace muster
