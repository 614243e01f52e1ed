// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/relayed_ends.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

namespace muster {

bool drop_exception_about_end(std::vector<LineMatch>& matches) {
  const bool relayed = std::any_of(
      matches.begin(), matches.end(),
      [](const LineMatch& match) { return match.kind == PatternKind::kDeath; });
  if (!relayed) return false;
  return std::erase_if(matches, [](const LineMatch& match) {
           return match.rule->code == "python_exception";
         }) > 0;
}

void drop_traceback(std::vector<Candidate>& found) {
  auto last = found.rbegin();
  while (last != found.rend() && last->death) ++last;
  if (last == found.rend() || !last->maybe ||
      last->rule->code != "python_exception") {
    return;
  }
  found.erase(std::next(last).base());
}

void drop_launchers_traceback(std::vector<Candidate>& found) {
  const auto end =
      std::find_if(found.begin(), found.end(),
                   [](const Candidate& candidate) { return candidate.death; });
  if (end == found.end()) return;
  const size_t order = end->order;
  std::erase_if(found, [order](const Candidate& candidate) {
    return candidate.order > order && candidate.maybe &&
           candidate.rule->code == "python_exception";
  });
}

namespace {

// A process crashed, or the launcher says that it kills the others.
bool makes_launcher_kill(const Candidate& end) {
  const std::string& code = end.rule->code;
  const bool crash = code == "segfault" || code == "fpe" ||
                     code == "illegal_instruction" || code == "abort_sigabrt";
  return end.death &&
         (crash || end.line.find("terminating all other") != std::string::npos);
}

void drop_kills(std::vector<Candidate>& candidates) {
  int64_t first = INT64_MAX;
  for (const Candidate& candidate : candidates) {
    if (makes_launcher_kill(candidate)) {
      first = std::min(first, candidate.time_ns);
    }
  }
  std::erase_if(candidates, [first](const Candidate& candidate) {
    return candidate.death && candidate.time_ns > first &&
           candidate.rule->code == "sigkill_unexplained";
  });
}

}  // namespace

void drop_teardown(std::vector<Candidate>& candidates) {
  drop_kills(candidates);
  const auto told_to_end = [](const Candidate& candidate) {
    return candidate.rule->code == "terminated_external";
  };
  int64_t first_end = INT64_MAX;
  for (const Candidate& candidate : candidates) {
    if (candidate.death && candidate.rank >= 0 && !told_to_end(candidate)) {
      first_end = std::min(first_end, candidate.time_ns);
    }
  }
  // With the shape of an error that such a line has, too.
  std::set<int64_t> teardown;
  for (const Candidate& candidate : candidates) {
    if (told_to_end(candidate) && candidate.time_ns > first_end) {
      teardown.insert(candidate.time_ns);
    }
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return teardown.contains(candidate.time_ns) &&
           (told_to_end(candidate) || candidate.rule->code == "unknown");
  });
}

}  // namespace muster
