// SPDX-License-Identifier: Apache-2.0
// Cuts the facts of a pod to the size of one message: leaves out the longest
// values of a larger environment, and says so in a sentence; the rest of the
// facts stays. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "job/node_facts.h"

namespace muster {

// At most `limit` bytes, unless the rest without variables has more.
std::string to_json_within(NodeFacts facts, size_t limit);

}  // namespace muster
