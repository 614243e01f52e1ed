// SPDX-License-Identifier: Apache-2.0
// The users' checklist of a launch, for report.json: workers up, network
// proved, memory sufficient, data there. And notes on a job that ended well.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/report/report.h"

namespace muster {

struct ChecklistItem {
  std::string item;    // "workers", "network", "memory", "data"
  std::string state;   // "ok", "failed", "not checked"
  std::string detail;  // one clause
};

std::vector<ChecklistItem> checklist(const LaunchReport& report);

// At most `limit` lines on stragglers, memory and hangs; none is fine.
std::vector<std::string> success_lines(const LaunchReport& report,
                                       size_t limit);

}  // namespace muster
