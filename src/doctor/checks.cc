// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks.h"

#include <algorithm>

namespace muster {

DoctorFindings examine(const PodState& pod) {
  DoctorFindings out;
  for (const Finding& finding : pod.contract.findings) {
    const bool unreadable = finding.code == "job_key_unreadable";
    out.push_back({finding, unreadable
                                ? "# the MPIJob\n"
                                  "spec: {sshAuthMountPath: /etc/mpi-ssh}"
                                : ""});
  }
  check_network(pod, out);
  check_memory(pod, out);
  check_devices(pod, out);
  check_files(pod, out);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.finding.severity > b.finding.severity;
  });
  return out;
}

}  // namespace muster
