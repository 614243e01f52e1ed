// SPDX-License-Identifier: Apache-2.0
// Pairs the pods in rounds. A pod has one partner in a round, so that no pod is
// a hot spot. Covers all pairs in as many rounds as there are pods, one fewer
// if their number is even. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace muster {

using TestRound = std::vector<std::pair<size_t, size_t>>;  // driver, peer

// At most `most_rounds`; fewer rounds are spread over the whole schedule.
std::vector<TestRound> tournament(size_t pods, size_t most_rounds);

}  // namespace muster
