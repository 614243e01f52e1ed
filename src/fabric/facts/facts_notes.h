// SPDX-License-Identifier: Apache-2.0
// Readable values without meaning: an address with an octet of 300, a link
// layer that does not exist. Notes them; the plan ignores them. Pure.
#pragma once

#include <string>
#include <vector>

#include "fabric/facts/facts.h"

namespace muster {

// `where`: "pods[0]".
void note_values(const PodFabric& pod, const std::string& where,
                 std::vector<std::string>& notes);

// Without "pods[3].x: …" if another pod's is the same.
std::vector<std::string> told_once(const std::vector<std::string>& notes);

}  // namespace muster
