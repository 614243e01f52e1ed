// SPDX-License-Identifier: Apache-2.0
#include "pmi/world.h"

#include <algorithm>

#include "base/text.h"
#include "job/cpu_list.h"

namespace muster {

namespace {

constexpr int kMostRanks = 1 << 20;

tl::unexpected<Error> bad_map(std::string why) {
  return fail(Error{"protocol",
                    "the job's map of ranks makes no sense",
                    std::move(why),
                    {},
                    "this is a defect of muster; report it"});
}

}  // namespace

std::string rank_ranges(const std::vector<int>& ascending) {
  std::string out;
  for (size_t i = 0; i < ascending.size();) {
    size_t end = i;
    while (end + 1 < ascending.size() &&
           ascending[end + 1] == ascending[end] + 1) {
      ++end;
    }
    if (!out.empty()) out += ',';
    out += std::to_string(ascending[i]);
    if (end > i) out += '-' + std::to_string(ascending[end]);
    i = end + 1;
  }
  return out;
}

Result<std::vector<int>> parse_rank_ranges(std::string_view text, int size) {
  std::vector<int> out;
  if (text.empty()) return out;
  for (const std::string_view range : split(text, ',')) {
    const size_t dash = range.find('-');
    const auto first = parse_integer(range.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_integer(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= size ||
        (!out.empty() && *first <= out.back())) {
      return bad_map("'" + std::string(text) +
                     "' are not ranks of a world of " + std::to_string(size));
    }
    for (int64_t rank = *first; rank <= *last; ++rank) {
      out.push_back(static_cast<int>(rank));
    }
  }
  return out;
}

Result<World> World::from(const wire::JobMap& map) {
  World out;
  out.map_ = map;
  if (map.size < 1 || map.size > kMostRanks) {
    return bad_map("it has " + std::to_string(map.size) + " ranks");
  }
  if (map.node < 0 || map.node >= static_cast<int>(map.nodes.size())) {
    return bad_map("node " + std::to_string(map.node) + " is not in it");
  }
  int64_t in_apps = 0;
  for (const wire::JobMapProgram& program : map.programs) {
    if (program.ranks < 0) return bad_map("a program has fewer than 0 ranks");
    in_apps += program.ranks;
  }
  if (!map.programs.empty() && in_apps != map.size) {
    return bad_map("its programs have " + std::to_string(in_apps) + " ranks");
  }
  for (const std::string& cpus : map.cpus) {
    if (!parse_cpu_list(cpus)) return bad_map("'" + cpus + "' are no CPUs");
  }
  out.node_of_.assign(static_cast<size_t>(map.size), -1);
  out.local_rank_.assign(static_cast<size_t>(map.size), -1);
  for (const wire::JobMapNode& node : map.nodes) {
    auto ranks = parse_rank_ranges(node.ranks, map.size);
    if (!ranks) return tl::unexpected(ranks.error());
    int local = 0;
    for (const int rank : *ranks) {
      int& place = out.node_of_[static_cast<size_t>(rank)];
      if (place >= 0) return bad_map(std::to_string(rank) + " is there twice");
      place = static_cast<int>(out.ranks_.size());
      out.local_rank_[static_cast<size_t>(rank)] = local++;
    }
    out.ranks_.push_back(std::move(*ranks));
  }
  const auto missing = std::find(out.node_of_.begin(), out.node_of_.end(), -1);
  if (missing != out.node_of_.end()) {
    return bad_map("rank " + std::to_string(missing - out.node_of_.begin()) +
                   " has no node");
  }
  return out;
}

int World::app_of(int rank) const {
  int first = 0;
  for (size_t app = 0; app < map_.programs.size(); ++app) {
    first += map_.programs[app].ranks;
    if (rank < first) return static_cast<int>(app);
  }
  return 0;
}

std::vector<int> World::cpus_of(int own_rank) const {
  const auto index = static_cast<size_t>(local_rank(own_rank));
  if (index >= map_.cpus.size()) return {};
  return parse_cpu_list(map_.cpus[index]).value_or(std::vector<int>{});
}

std::string World::who(int rank) const {
  return "rank " + std::to_string(rank) + " on " + host(node_of(rank));
}

}  // namespace muster
