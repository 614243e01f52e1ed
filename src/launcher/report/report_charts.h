// SPDX-License-Identifier: Apache-2.0
// The drawings of the report page, as inline SVG or HTML. Pure.
#pragma once

#include <string>
#include <string_view>

#include "launcher/report/report.h"

namespace muster {

// How a rank ended, for colours and counts: "ok", "failed", "stopped" (by the
// launcher's own order), "lost", "unstarted", "running".
std::string_view rank_class(const RankEvidence& rank);

// Phases as bars on one time axis; below, a lane for each worker: connecting,
// then its ranks from the start to the end, with a tick where each ended.
std::string timeline_svg(const LaunchReport& report);
// One square per rank, by worker.
std::string rank_grid(const LaunchReport& report);
// Memory of one node against its limit; "" with fewer than two samples.
std::string memory_svg(const NodeEvidence& node);

}  // namespace muster
