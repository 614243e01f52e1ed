// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/stack_groups.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "logs/line_folder.h"
#include "stacks/frame_names.h"

namespace muster {

namespace {

constexpr size_t kMaxPath = 6;
constexpr size_t kMaxOdd = 4;
constexpr size_t kMaxGroups = 4;

bool is_unknown(std::string_view frame) { return function_of(frame) == "?"; }

// An interpreter's function that calls everything, or a mere trampoline.
bool is_evaluation(std::string_view function) {
  for (const char* const start :
       {"_PyEval_", "PyEval_", "PyObject_", "_PyObject_", "_PyFunction_",
        "PyVectorcall", "_PyVectorcall", "PyRun_", "_PyRun_", "Py_RunMain",
        "Py_BytesMain", "_PyCFunction", "cfunction_", "method_vectorcall",
        "main"}) {
    if (function.starts_with(start)) return true;
  }
  return function == "?";
}

// "libcuda.so.580" of "libcuda.so.580.159.04".
std::string short_file(std::string_view file) {
  constexpr std::string_view kMark = ".so.";
  const size_t at = file.find(kMark);
  if (at == std::string_view::npos) return std::string(file);
  return std::string(file.substr(0, file.find('.', at + kMark.size())));
}

using Frames = std::vector<std::string>;

// A run of frames as one place. `last`: nothing is called from there.
std::string place_of(Frames::const_iterator begin, Frames::const_iterator end,
                     bool last) {
  if (is_interpreter(*begin)) {
    // The group's most telling frame.
    while (last && end != begin) {
      const auto function = function_of(*--end);
      if (!is_evaluation(function)) {
        return "Python (" + std::string(function) + ")";
      }
    }
    return "Python";
  }
  if (!is_unknown(*begin)) return std::string(function_of(*begin));
  const auto count = end - begin;
  return short_file(file_of(*begin)) + " (" + std::to_string(count) +
         (count == 1 ? " frame)" : " frames)");
}

bool one_run(std::string_view a, std::string_view b) {
  if (is_interpreter(a) || is_interpreter(b)) {
    return is_interpreter(a) && is_interpreter(b);
  }
  return is_unknown(a) && is_unknown(b) && file_of(a) == file_of(b);
}

// `frames`: outermost first.
Frames path_of(const Frames& frames) {
  Frames path;
  auto begin = frames.begin();
  while (std::distance(begin, frames.end()) > 1 && is_start(*begin)) ++begin;
  while (begin != frames.end()) {
    auto end = begin + 1;
    while (end != frames.end() && one_run(*begin, *end)) ++end;
    path.push_back(place_of(begin, end, end == frames.end()));
    begin = end;
  }
  return path;
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
  using Key = std::tuple<Frames, bool, std::string>;
  std::map<Key, std::set<int>> all;
  for (const PlacedStack& one : stacks) {
    const auto& frames = one.stack.frames;
    const auto call = call_at(frames);
    auto path = path_of(
        {frames.rbegin(),
         frames.rend() - static_cast<std::ptrdiff_t>(call.value_or(0))});
    const std::string problem = path.empty() ? one.stack.problem : "";
    all[{std::move(path), call.has_value(), problem}].insert(one.stack.rank);
  }
  std::vector<StackGroup> groups;
  for (auto& [key, ranks] : all) {
    groups.push_back(
        {std::get<0>(key), std::get<1>(key), ranks, std::get<2>(key)});
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
  if (group.path.size() == 2 && group.path[0] == "Python") {
    return group.path[1] + ", called by Python";
  }
  const size_t skip =
      group.path.size() > kMaxPath ? group.path.size() - kMaxPath : 0;
  std::string text = skip > 0 ? "… > " : "";
  for (size_t i = skip; i < group.path.size(); ++i) {
    text += (i > skip ? " > " : "") + group.path[i];
  }
  return text;
}

std::set<int> minority(const std::vector<StackGroup>& groups) {
  if (groups.size() < 2) return {};
  size_t total = 0;
  for (const StackGroup& group : groups) total += group.ranks.size();
  const bool most = groups.front().ranks.size() * 2 > total;
  const auto& last = groups.back().ranks;
  return most && last.size() <= kMaxOdd ? last : std::set<int>{};
}

std::string groups_sentence(const std::vector<StackGroup>& groups,
                            const std::vector<PlacedStack>& stacks,
                            const std::set<int>& odd) {
  const auto waiting =
      std::find_if(groups.begin(), groups.end(),
                   [](const StackGroup& group) { return group.in_call; });
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
            (group.path.empty()        ? ": "
             : group.ranks.size() == 1 ? " is in "
                                       : " are in ") +
            path_text(group);
    if (is_odd && !group.in_call && waiting != groups.end()) {
      text += " and not in " + waiting->path.back() + ", where the others wait";
    }
  }
  return text;
}

std::string groups_text(const std::vector<StackGroup>& groups,
                        const std::vector<PlacedStack>& stacks,
                        const std::set<int>& odd) {
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
