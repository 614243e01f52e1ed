// SPDX-License-Identifier: Apache-2.0
// Worlds for tests, from the ranks of each node.
#pragma once

#include <string>
#include <vector>

#include "pmi/world.h"

namespace muster::test {

inline Result<World> make_world(int size, std::vector<std::string> ranks,
                                int own_node = 0) {
  wire::JobMap map;
  map.nspace = "job";
  map.size = size;
  map.node = own_node;
  for (size_t i = 0; i < ranks.size(); ++i) {
    map.nodes.push_back({"w-" + std::to_string(i), ranks[i]});
  }
  map.programs = {{size, "./app", ""}};
  return World::from(map);
}

}  // namespace muster::test
