// SPDX-License-Identifier: Apache-2.0
// Reads NCCL's report on a job that stands still. Since NCCL 2.24 a thread in
// each process counts the collectives that its rank has launched and answers
// for the whole job (RAS, worker/hang/agent_ras.h). The report names the rank
// that is behind exactly; stacks do not, since a rank that waits for its GPU
// may be anywhere. Reads the text report of NCCL 2.24 to 2.31 and skips lines
// that it does not know. Pure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct RasRank {
  int number = -1;   // in its communicator; -1: unknown
  int pid = 0;       // as the rank itself sees it; 0: unknown
  std::string node;  // the address of NCCL's bootstrap, without a port
};

// Ranks of one communicator that are equal where the others differ.
struct RasGroup {
  size_t count = 0;
  std::optional<uint64_t> operations;  // launched so far
  std::string status;                  // or "INIT", an error, …
  std::vector<RasRank> ranks;  // those that NCCL names: none of a majority
};

struct RasIssue {
  enum class Kind { kCounts, kStatus, kError, kSilent };
  Kind kind = Kind::kCounts;
  std::string operation;  // of kCounts: "AllReduce"; "" before NCCL 2.26
  int size = 0;           // ranks of the communicator; 0: unknown
  std::vector<RasGroup> groups;
};

// At most 64 issues, 512 ranks each, in NCCL's order: the largest communicators
// first.
std::vector<RasIssue> read_ras_report(std::string_view text);

// The rank of the job, if it is known.
using JobRankOf = std::function<std::optional<int>(const RasRank&, int size)>;

// The few ranks that the others wait for: without an answer or behind in a
// count; else with another status or an error, which a rank may show because of
// another. Empty: NCCL names none.
struct RasOdd {
  std::set<int> ranks;
  RasIssue::Kind kind = RasIssue::Kind::kCounts;  // why
};
RasOdd ras_odd_ranks(const std::vector<RasIssue>& issues,
                     const JobRankOf& job_rank);

// All counts of operations in the report: they differ later if a job goes on.
std::vector<uint64_t> ras_counts(const std::vector<RasIssue>& issues);

// One sentence per issue, at most `most`: "NCCL: of AllReduce rank 5 is at
// number 41, 15 ranks at 42".
std::vector<std::string> ras_sentences(const std::vector<RasIssue>& issues,
                                       const JobRankOf& job_rank, size_t most);

}  // namespace muster
