// SPDX-License-Identifier: Apache-2.0
// Findings as the table that every page of muster shows them in. A column that
// no finding fills is left out. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/finding.h"

namespace muster {

// "" without findings.
std::string findings_table(const std::vector<Finding>& findings);

}  // namespace muster
