// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/culprits.h"

#include <algorithm>
#include <utility>

#include "logs/line_folder.h"

namespace muster {

namespace {

using By = Culprits::By;

constexpr size_t kMaxOdd = 4;

std::string ranks_text(const std::set<int>& ranks) {
  return (ranks.size() == 1 ? "Rank " : "Ranks ") + rank_set_text(ranks);
}

Culprits named(By by, std::set<int> ranks, const char* one, const char* many,
               std::string evidence) {
  Culprits out;
  out.by = by;
  out.text = ranks_text(ranks) + (ranks.size() == 1 ? one : many) + ", by " +
             by_text(by);
  out.ranks = std::move(ranks);
  out.evidence = std::move(evidence);
  return out;
}

Culprits hold_up(By by, std::set<int> ranks, std::string evidence) {
  return named(by, std::move(ranks), " holds up the rest", " hold up the rest",
               std::move(evidence));
}

Culprits by_record(const HangEvidence& evidence) {
  for (const FlightIssue& issue : evidence.flight) {
    if (evidence.works && !issue.differs) continue;
    if (issue.differs && issue.odd.empty()) {
      Culprits out;
      out.by = By::kRecord;
      out.text = "The ranks are out of step, by " + by_text(By::kRecord);
      out.evidence = issue.text;
      return out;
    }
    if (issue.odd.empty()) continue;
    return issue.differs
               ? named(By::kRecord, issue.odd, " is out of step with the rest",
                       " are out of step with the rest", issue.text)
               : hold_up(By::kRecord, issue.odd, issue.text);
  }
  return {};
}

Culprits by_nccl(const HangEvidence& evidence, bool counts) {
  if (!evidence.job_rank || evidence.works) return {};
  RasOdd odd = ras_odd_ranks(evidence.nccl, evidence.job_rank);
  const bool counted = odd.kind == RasIssue::Kind::kCounts ||
                       odd.kind == RasIssue::Kind::kSilent;
  if (odd.ranks.empty() || counted != counts) return {};
  const auto told = ras_sentences(evidence.nccl, evidence.job_rank, 1);
  return hold_up(counts ? By::kCounts : By::kErrors, std::move(odd.ranks),
                 told.empty() ? std::string() : told[0]);
}

// Ranks outside while the others are in a call that waits.
Culprits by_stacks(const HangEvidence& evidence) {
  std::set<int> resting;
  std::set<int> working;
  size_t in_call = 0;
  for (const auto& [rank, one] : evidence.doings) {
    if (one.in_call) {
      ++in_call;
    } else {
      (one.doing == Doing::kWorks ? working : resting).insert(rank);
    }
  }
  if (in_call == 0) return {};
  const size_t elsewhere = resting.size() + working.size();
  if (elsewhere == 0) {
    auto odd = evidence.works ? std::set<int>()
                              : minority(group_stacks(evidence.stacks));
    return odd.empty() ? Culprits() : hold_up(By::kStacks, std::move(odd), {});
  }
  if (in_call < elsewhere) return {};
  std::set<int>& odd = evidence.works ? working : resting;
  if (odd.empty() || odd.size() > kMaxOdd) return {};
  return evidence.works ? named(By::kStacks, std::move(odd),
                                " is at work while the rest waits",
                                " are at work while the rest waits", {})
                        : hold_up(By::kStacks, std::move(odd), {});
}

}  // namespace

std::string by_text(By by) {
  switch (by) {
    case By::kException:
      return "its last lines";
    case By::kRecord:
      return "PyTorch's record";
    case By::kCounts:
      return "NCCL's operation counts";
    case By::kStacks:
      return "the stacks";
    case By::kErrors:
      return "the state that NCCL reports";
    case By::kNothing:
      break;
  }
  return {};
}

Culprits who_holds_up(const HangEvidence& evidence) {
  if (!evidence.raised.empty()) {
    Culprits out;
    out.by = By::kException;
    out.text = evidence.raised;
    out.text[0] = 'R';
    return out;
  }
  Culprits out = by_record(evidence);
  if (out.by == By::kNothing) out = by_nccl(evidence, true);
  if (out.by == By::kNothing) out = by_stacks(evidence);
  if (out.by == By::kNothing) out = by_nccl(evidence, false);
  return out;
}

std::vector<FlightIssue> decisive_first(std::vector<FlightIssue> issues) {
  HangEvidence known;
  known.flight = issues;
  const Culprits who = who_holds_up(known);
  const auto decides =
      std::find_if(issues.begin(), issues.end(), [&who](auto& issue) {
        return who.by == By::kRecord && issue.text == who.evidence;
      });
  if (decides != issues.end()) {
    std::rotate(issues.begin(), decides, decides + 1);
  }
  return issues;
}

}  // namespace muster
