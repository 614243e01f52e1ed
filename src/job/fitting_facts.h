// SPDX-License-Identifier: Apache-2.0
// Facts of a pod as one message can hold them: of an environment that is larger
// the longest values are left out, and a sentence says so; the rest of the
// facts stays. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "job/node_facts.h"

namespace muster {

// At most `limit` bytes, unless what is left without variables has more.
std::string to_json_within(NodeFacts facts, size_t limit);

}  // namespace muster
