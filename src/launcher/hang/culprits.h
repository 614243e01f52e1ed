// SPDX-License-Identifier: Apache-2.0
// Names the ranks that hold up a job that hangs, for `muster stack`, the hang
// verdict and that of a collective's timeout alike. The heaviest evidence that
// names a rank decides, and the sentence says which it was. In this order: an
// exception that ended a rank's program; the first difference in PyTorch's
// record; NCCL's counts of operations; stacks seen twice; a status or an error
// that NCCL reports, which a waiting rank may have because of another. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "launcher/hang/flight_report.h"
#include "launcher/hang/progress.h"
#include "launcher/hang/ras_report.h"
#include "launcher/hang/stack_groups.h"

namespace muster {

struct HangEvidence {
  std::string raised;  // stuck_text() of ranks that raised an exception
  std::vector<FlightIssue> flight;  // of current or last records
  std::vector<RasIssue> nccl;
  JobRankOf job_rank;
  std::vector<PlacedStack> stacks;
  std::map<int, RankDoing> doings;  // empty: seen once, so unknown
  // The job gets on: a rank that is behind now may be ahead in a moment.
  bool works = false;
};

struct Culprits {
  enum class By { kNothing, kException, kRecord, kCounts, kStacks, kErrors };
  By by = By::kNothing;
  std::set<int> ranks;  // may be empty if ranks differ and none is odd
  // "Rank 1 holds up the rest, by PyTorch's record"; empty: unknown.
  std::string text;
  // The sentence that decided; empty if the stacks decided.
  std::string evidence;
};

Culprits who_holds_up(const HangEvidence& evidence);

// The records of ranks that have ended. The one that decides in who_holds_up()
// comes first, so that report and verdict name the same ranks.
std::vector<FlightIssue> decisive_first(std::vector<FlightIssue> issues);

// "PyTorch's record", for machines and people.
std::string by_text(Culprits::By by);

}  // namespace muster
