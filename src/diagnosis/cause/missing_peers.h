// SPDX-License-Identifier: Apache-2.0
// MissingPeers: the ranks that others waited for in vain, from a meeting
// point's list: XLA's coordination service ("Timed out task names:", one a
// line), Horovod's stall check ("[missing ranks: 1, 3]", or one a line), a
// barrier's sentence, the recorders of PyTorch. They need attention, not the
// ranks that waited. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

// Whether a line begins such a list, or continues one.
bool begins_list(std::string_view line);
bool continues_list(std::string_view line);

// In ascending order; empty: no line names one, or `winner` does not wait.
std::vector<int> missing_peers(const Evidence& evidence,
                               const Candidate& winner);

// "Rank 3", "Ranks 0, 3 and more".
std::string missing_text(const std::vector<int>& ranks);

}  // namespace muster
