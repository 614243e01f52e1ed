// SPDX-License-Identifier: Apache-2.0
// The participants of a fence as text that is the same on every node, so that
// contributions can meet under it: "pmix:*" for all ranks, "pmix:0-3,8" for
// some. The word before the colon keeps operations apart that must not meet:
// "pmix" fences, "connect", "disconnect", "pmi1" barriers.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pmi/world.h"

namespace muster {

// Any order, repeats allowed; empty or all ranks give "*".
std::string participants_text(std::string_view kind, std::vector<int> ranks,
                              int world_size);

// The ranks that `text` stands for, ascending. Error code "protocol".
Result<std::vector<int>> participant_ranks(std::string_view text,
                                           int world_size);

// Indices of the nodes of `ranks`, ascending.
std::vector<int> nodes_of(const World& world, const std::vector<int>& ranks);

}  // namespace muster
