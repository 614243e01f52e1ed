// SPDX-License-Identifier: Apache-2.0
// A stopped job may have stood still because one rank had failed and could not
// leave. The verdict shows such a rank's last lines as well. Refuses: lines
// that a rank wrote after the stop, and lines after which it went on. Pure.
#pragma once

#include <vector>

#include "diagnosis/verdict.h"

namespace muster {

// At most `limit`; none for a bare log, which does not order stop and lines.
std::vector<AlsoSeen> words_before_stop(const Evidence& evidence,
                                        const RuleBook& rules, size_t limit);

}  // namespace muster
