// SPDX-License-Identifier: Apache-2.0
// A verdict for one record of a log, which may not be long. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "diagnosis/verdict.h"

namespace muster {

// verdict_json() in at most `max_bytes` (>= 3072): drops other observations
// first, then evidence and remedies from their ends, then cuts long texts.
std::string short_verdict_json(Verdict verdict, size_t max_bytes);

}  // namespace muster
