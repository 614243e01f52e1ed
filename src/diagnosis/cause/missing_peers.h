// SPDX-License-Identifier: Apache-2.0
// MissingPeers: whom the others waited for in vain, where a meeting point lists
// them: XLA's coordination service ("Timed out task names:", one a line),
// Horovod's stall check ("[missing ranks: 1, 3]", or one a line), a barrier's
// sentence, the recorders of PyTorch. They are to be looked at, not those who
// waited. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

// A line that begins such a list, and one that goes on with it.
bool begins_list(std::string_view line);
bool continues_list(std::string_view line);

// In ascending order; empty: no line names one, or `winner` does not wait.
std::vector<int> missing_peers(const Evidence& evidence,
                               const Candidate& winner);

// "Rank 3", "Ranks 0, 3 and more".
std::string missing_text(const std::vector<int>& ranks);

}  // namespace muster
