// SPDX-License-Identifier: Apache-2.0
// A job that somebody stopped, or a limit, may have stood still because one
// rank had failed and could not leave. The verdict shows such a rank's last
// words as well.
// Refuses: words that a rank wrote after the stop, and words after which it
// went on. Pure.
#pragma once

#include <vector>

#include "diagnosis/verdict.h"

namespace muster {

// At most `limit`; none for a bare log, which has no order of stop and words.
std::vector<AlsoSeen> words_before_stop(const Evidence& evidence,
                                        const RuleBook& rules, size_t limit);

}  // namespace muster
