// SPDX-License-Identifier: Apache-2.0
// `muster doctor`: checks this pod for what usually breaks a job, and prints
// each finding with its remedy and the YAML to add.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without "doctor". Returns 0, 101 if a finding is an error, 2 for a
// wrong command line. Ends within about 15 s.
int doctor_main(const std::vector<std::string>& args);

}  // namespace muster
