// SPDX-License-Identifier: Apache-2.0
// The output of `muster doctor`: for people, or one JSON object. Pure.
#pragma once

#include <string>
#include <vector>

#include "doctor/job_examination.h"

namespace muster {

std::string doctor_text(const DoctorReport& report);
std::string doctor_job_text(const std::vector<PodAnswer>& answers,
                            const std::vector<SharedFinding>& findings);
std::string doctor_job_json(const std::vector<PodAnswer>& answers,
                            const std::vector<SharedFinding>& findings);

}  // namespace muster
