// SPDX-License-Identifier: Apache-2.0
// DoctorReport: the output of `muster doctor -o json` in one pod, as a value
// that goes to JSON and back, so that `muster doctor --job` can compare pods.
// Refuses other text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doctor/checks.h"
#include "doctor/pod_state.h"

namespace muster {

struct DoctorReport {
  std::string hostname;
  std::string role;
  std::string node;  // boot id of the kernel: the same on one node; "": unknown
  DoctorFindings findings;
  std::vector<PathState> paths;
  std::vector<ProgramState> programs;
  std::string facts;  // NodeFacts as JSON text
};

DoctorReport make_report(const PodState& pod, DoctorFindings findings);

std::string to_json(const DoctorReport& report);
// Error code "protocol".
Result<DoctorReport> doctor_report_from_json(std::string_view text);

}  // namespace muster
