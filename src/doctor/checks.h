// SPDX-License-Identifier: Apache-2.0
// The checks of `muster doctor`: what in a pod usually breaks a job, and the
// YAML that fixes it. Pure; the same PodState gives the same findings.
#pragma once

#include <string>
#include <vector>

#include "doctor/pod_state.h"
#include "job/finding.h"

namespace muster {

struct DoctorFinding {
  Finding finding;
  std::string yaml;  // to add to the manifest, several lines; may be empty
};

using DoctorFindings = std::vector<DoctorFinding>;

// Errors first, then warnings, then remarks.
DoctorFindings examine(const PodState& pod);

// One group of checks each, for examine().
void check_network(const PodState& pod, DoctorFindings& out);
void check_memory(const PodState& pod, DoctorFindings& out);
void check_devices(const PodState& pod, DoctorFindings& out);
void check_files(const PodState& pod, DoctorFindings& out);

}  // namespace muster
