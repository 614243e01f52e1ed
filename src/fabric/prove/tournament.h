// SPDX-License-Identifier: Apache-2.0
// Who is tested with whom, in rounds in which nobody has two partners, so that
// no pod is a hot spot. All pairs are covered in as many rounds as there are
// pods, less one where they are even. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace muster {

using TestRound = std::vector<std::pair<size_t, size_t>>;  // driver, peer

// At most `most_rounds`; fewer rounds are spread over the whole schedule.
std::vector<TestRound> tournament(size_t pods, size_t most_rounds);

}  // namespace muster
