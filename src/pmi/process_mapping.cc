// SPDX-License-Identifier: Apache-2.0
#include "pmi/process_mapping.h"

#include <vector>

namespace muster {

namespace {

struct Block {
  int node = 0;
  int nodes = 1;
  int ranks = 0;  // on each of them
  bool operator==(const Block& other) const = default;
};

std::vector<Block> blocks_of(const World& world) {
  std::vector<Block> runs;  // one node each
  for (int rank = 0; rank < world.size(); ++rank) {
    const int node = world.node_of(rank);
    if (runs.empty() || runs.back().node != node) {
      runs.push_back({node, 1, 0});
    }
    ++runs.back().ranks;
  }
  std::vector<Block> out;
  for (const Block& run : runs) {
    if (!out.empty() && out.back().ranks == run.ranks &&
        out.back().node + out.back().nodes == run.node) {
      ++out.back().nodes;
    } else {
      out.push_back(run);
    }
  }
  return out;
}

// Round-robin placements repeat: one period is enough.
void keep_one_period(std::vector<Block>& blocks) {
  for (size_t period = 1; period <= blocks.size() / 2; ++period) {
    if (blocks.size() % period != 0) continue;
    bool repeats = true;
    for (size_t i = period; i < blocks.size() && repeats; ++i) {
      repeats = blocks[i] == blocks[i - period];
    }
    if (!repeats) continue;
    blocks.resize(period);
    return;
  }
}

}  // namespace

std::string process_mapping(const World& world, size_t limit) {
  std::vector<Block> blocks = blocks_of(world);
  keep_one_period(blocks);
  std::string out = "(vector";
  for (const Block& block : blocks) {
    out += ",(" + std::to_string(block.node) + ',' +
           std::to_string(block.nodes) + ',' + std::to_string(block.ranks) +
           ')';
    if (out.size() >= limit) return "";
  }
  return out + ')';
}

}  // namespace muster
