// SPDX-License-Identifier: Apache-2.0
// `muster fabric check|bench --report FILE.html`: the findings, and a map of
// all measured pairs, in the design of the launch's page. Pure.
#pragma once

#include <string>

#include "fabric/prove/job_check_report.h"

namespace muster {

std::string check_page(const JobCheck& check, const JobCheckReport& report,
                       double seconds);

}  // namespace muster
