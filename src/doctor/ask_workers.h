// SPDX-License-Identifier: Apache-2.0
// Runs `muster doctor` in other pods of the job, over SSH with the job's key,
// and reads their output. Blocks up to a deadline, and names the pods that have
// not answered by then, with the reason. A bounded number at a time; kills and
// reaps all children.
#pragma once

#include <string>
#include <vector>

#include "doctor/job_examination.h"

namespace muster {

// `words` follow `muster-agent doctor` in each pod: flags of one word only.
// One answer per host, in order.
std::vector<PodAnswer> ask_workers(const std::vector<std::string>& hosts,
                                   const std::vector<std::string>& words,
                                   int port);

}  // namespace muster
