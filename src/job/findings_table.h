// SPDX-License-Identifier: Apache-2.0
// Findings as a table for every page of muster. Omits an empty column. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/finding.h"

namespace muster {

// "" without findings.
std::string findings_table(const std::vector<Finding>& findings);

}  // namespace muster
