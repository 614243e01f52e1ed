// SPDX-License-Identifier: Apache-2.0
// Drops the repeats of one owner: its first and its last lines of each class
// say as much as all. Bounds the candidates of a log by its ranks and their
// classes, not by its lines. Pure.
#pragma once

#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

// How many of each class are kept from either end.
inline constexpr size_t kRepeats = 4;

// `found`: of one owner, in the order of its lines. The classes of one line
// stay together.
void drop_repeats(std::vector<Candidate>& found);

// Possibly many: they never exist twice.
void append(std::vector<Candidate>& all, std::vector<Candidate> more);

}  // namespace muster
