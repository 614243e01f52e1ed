// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/before_stop.h"

#include <algorithm>
#include <set>

#include "diagnosis/cause/candidate.h"
#include "diagnosis/who.h"

namespace muster {

namespace {

// A message of several lines, and what runs at exit.
constexpr int64_t kTogetherNs = 2'000'000'000;

bool is_last_word(const Candidate& candidate, const RankEvidence& rank,
                  int64_t stop_ns) {
  return std::none_of(rank.lines.begin(), rank.lines.end(),
                      [&candidate, stop_ns](const LineEvidence& line) {
                        return line.time_ns > candidate.time_ns + kTogetherNs &&
                               line.time_ns < stop_ns;
                      });
}

}  // namespace

std::vector<AlsoSeen> words_before_stop(const Evidence& evidence,
                                        const RuleBook& rules, size_t limit) {
  std::vector<AlsoSeen> out;
  const int64_t stop_ns = evidence.job.stop_ns;
  if (evidence.job.bare_log || stop_ns <= 0) return out;
  std::set<int> told;
  for (const Candidate& one : scan_lines(evidence, rules, true).candidates) {
    const bool says_why = one.rule->role == CauseRole::kCause ||
                          one.rule->role == CauseRole::kGeneric;
    if (!says_why || one.maybe || one.death || one.guess || one.rank < 0 ||
        one.time_ns <= 0 || one.time_ns >= stop_ns || one.line.empty()) {
      continue;
    }
    const RankEvidence* const rank = find_rank(evidence, one.rank);
    if (rank == nullptr || !is_last_word(one, *rank, stop_ns) ||
        out.size() >= limit || !told.insert(one.rank).second) {
      continue;
    }
    out.push_back({one.rule->code, who(one.rank, one.host) +
                                       " had written before: " + one.line});
  }
  return out;
}

}  // namespace muster
