// SPDX-License-Identifier: Apache-2.0
// Whether so many ranks outnumber the CPUs of this pod, by its quota or its set
// of CPUs. Ranks of an MPI that poll then keep those they wait for from
// running. Reads the pod's cgroup. Any thread.
#pragma once

namespace muster {

bool crowded(int ranks);

}  // namespace muster
