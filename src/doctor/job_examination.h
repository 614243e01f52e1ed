// SPDX-License-Identifier: Apache-2.0
// The findings of the pods of one job together: equal findings once, with the
// names of the pods; and those that no pod can see alone: different MPIs and
// libraries, directories that are not the same, a launcher beside a worker.
// Pure; doctor/ask_workers.h asks.
#pragma once

#include <string>
#include <vector>

#include "doctor/doctor_report.h"

namespace muster {

struct PodAnswer {
  std::string host;
  bool answered = false;
  std::string reason;   // why not
  DoctorReport report;  // if answered
};

struct SharedFinding {
  DoctorFinding what;
  std::vector<std::string> hosts;  // all, in the order asked
};

// Errors first. The first answer is this pod's own.
std::vector<SharedFinding> examine_job(const std::vector<PodAnswer>& answers);

}  // namespace muster
