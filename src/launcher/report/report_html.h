// SPDX-License-Identifier: Apache-2.0
// `--report FILE.html`: a LaunchReport as one page without script, font or
// network. The page shows the ranks' output as text only, and forbids scripts,
// so that hostile output stays output. Pure: the same report gives the same
// bytes.
#pragma once

#include <string>

#include "launcher/report/report.h"

namespace muster {

// Some 10 KiB and about 300 bytes per rank; at most 8 excerpts of 40 lines.
std::string report_html(const LaunchReport& report);

}  // namespace muster
