// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/stack_groups.h"

#include <algorithm>
#include <map>

#include "logs/line_folder.h"

namespace muster {

namespace {

constexpr size_t kMaxPath = 6;
constexpr size_t kMaxOdd = 4;
constexpr size_t kMaxGroups = 4;

// "function (file)" without the file where the function has a name.
std::string place_of(const std::string& frame) {
  if (frame.starts_with("? ")) return frame;
  return frame.substr(0, frame.find(' '));
}

bool enters_library(const std::string& function) {
  for (const char* const start : {"MPI_", "PMPI_", "nccl", "mpi_"}) {
    if (function.starts_with(start)) return true;
  }
  return false;
}

std::vector<std::string> path_of(const wire::RankStack& stack) {
  std::vector<std::string> path;
  for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend();
       ++frame) {
    path.push_back(place_of(*frame));
    if (enters_library(path.back())) break;
  }
  return path;
}

bool in_library(const StackGroup& group) {
  return !group.path.empty() && enters_library(group.path.back());
}

std::string ranks_text(const StackGroup& group,
                       const std::vector<PlacedStack>& stacks) {
  std::string text = group.ranks.size() == 1 ? "rank " : "ranks ";
  text += rank_set_text(group.ranks);
  if (group.ranks.size() > 1) return text;
  for (const PlacedStack& one : stacks) {
    if (one.stack.rank != *group.ranks.begin()) continue;
    text += " on " + one.host;
    if (one.stack.state == "T") text += " (stopped by a signal)";
    if (one.stack.state == "D") text += " (waits for a disk or a device)";
  }
  return text;
}

}  // namespace

std::vector<StackGroup> group_stacks(const std::vector<PlacedStack>& stacks) {
  std::map<std::pair<std::vector<std::string>, std::string>, std::set<int>> all;
  for (const PlacedStack& one : stacks) {
    auto path = path_of(one.stack);
    const std::string problem = path.empty() ? one.stack.problem : "";
    all[{std::move(path), problem}].insert(one.stack.rank);
  }
  std::vector<StackGroup> groups;
  for (auto& [key, ranks] : all) {
    groups.push_back({key.first, ranks, key.second});
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) {
                     return a.ranks.size() > b.ranks.size();
                   });
  return groups;
}

std::string path_text(const StackGroup& group) {
  if (group.path.empty()) {
    return group.problem.empty() ? "a place without names" : group.problem;
  }
  const size_t skip =
      group.path.size() > kMaxPath ? group.path.size() - kMaxPath : 0;
  std::string text = skip > 0 ? "… > " : "";
  for (size_t i = skip; i < group.path.size(); ++i) {
    text += (i > skip ? " > " : "") + group.path[i];
  }
  return text;
}

std::set<int> odd_ranks(const std::vector<StackGroup>& groups) {
  if (groups.size() < 2) return {};
  size_t total = 0;
  for (const StackGroup& group : groups) total += group.ranks.size();
  // Inside the same library all are waiting, if for different things: then
  // whoever is not in it is what they wait for.
  std::set<int> outside;
  size_t inside = 0;
  for (const StackGroup& group : groups) {
    if (in_library(group)) {
      inside += group.ranks.size();
    } else {
      outside.insert(group.ranks.begin(), group.ranks.end());
    }
  }
  if (inside * 2 > total && !outside.empty() && outside.size() <= kMaxOdd) {
    return outside;
  }
  const bool most = groups.front().ranks.size() * 2 > total;
  const auto& last = groups.back().ranks;
  return most && last.size() <= kMaxOdd ? last : std::set<int>{};
}

std::string groups_sentence(const std::vector<StackGroup>& groups,
                            const std::vector<PlacedStack>& stacks) {
  const std::set<int> odd = odd_ranks(groups);
  std::string text;
  size_t told = 0;
  for (const StackGroup& group : groups) {
    if (++told > kMaxGroups) {
      text += "; and " + std::to_string(groups.size() - kMaxGroups) +
              " more places";
      break;
    }
    const bool is_odd = odd.count(*group.ranks.begin()) > 0;
    text += (text.empty() ? "" : "; ") + ranks_text(group, stacks) +
            (group.ranks.size() == 1 ? " is in " : " are in ") +
            path_text(group);
    if (is_odd && in_library(groups.front()) && !in_library(group)) {
      text += " and not in " + groups.front().path.back() +
              ", where the others wait";
    }
  }
  return text;
}

std::string groups_text(const std::vector<StackGroup>& groups,
                        const std::vector<PlacedStack>& stacks) {
  const std::set<int> odd = odd_ranks(groups);
  std::string text;
  for (const StackGroup& group : groups) {
    const bool is_odd = odd.count(*group.ranks.begin()) > 0;
    text += ranks_text(group, stacks) + (is_odd ? "  <- the odd one\n" : "\n");
    if (group.path.empty()) text += "  " + path_text(group) + "\n";
    for (const PlacedStack& one : stacks) {
      if (one.stack.rank != *group.ranks.begin()) continue;
      for (const std::string& frame : one.stack.frames) {
        text += "  " + frame + "\n";
      }
    }
  }
  return text;
}

}  // namespace muster
