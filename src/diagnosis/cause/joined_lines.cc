// SPDX-License-Identifier: Apache-2.0
// Finds the writer of a line by another line of the same log: error stacks and
// reports of launchers name the rank once, and go on without it.
#include <map>

#include "diagnosis/cause/candidate.h"

namespace muster {

namespace {

// "Abort(1) on node 3 (rank 3 in comm 0): Fatal error in PMPI_Init", and the
// stack below it, which names no rank.
void adopt_stacks(std::vector<Candidate>& candidates) {
  const Candidate* head = nullptr;
  for (Candidate& candidate : candidates) {
    if (candidate.rule->code == "mpi_error" && candidate.rank >= 0) {
      head = &candidate;
      continue;
    }
    const bool of_stack = candidate.rule->role == CauseRole::kCause ||
                          candidate.rule->code == "mpi_error";
    if (head == nullptr || candidate.rank >= 0 || !of_stack ||
        (!candidate.host.empty() && candidate.host != head->host) ||
        candidate.time_ns < head->time_ns ||
        candidate.time_ns - head->time_ns >
            head->rule->message_lines * kLogLineNs) {
      continue;
    }
    candidate.rank = head->rank;
    candidate.node = head->node;
    if (candidate.host.empty()) candidate.host = head->host;
  }
}

// The only rank whose call failed, and what its transport wrote right before
// that: "[node-7:4711:0] ib_mlx5_dv.c:161 UCX ERROR …".
void adopt_words_before(std::vector<Candidate>& candidates) {
  constexpr int64_t kRightBefore = 2 * kLogLineNs;
  const Candidate* head = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.rule->code != "mpi_error" || candidate.rank < 0) continue;
    if (head != nullptr && head->rank != candidate.rank) return;
    if (head == nullptr) head = &candidate;
  }
  if (head == nullptr) return;
  for (Candidate& candidate : candidates) {
    const bool right_before = candidate.time_ns < head->time_ns &&
                              head->time_ns - candidate.time_ns <= kRightBefore;
    const bool same_host = head->host.empty() || candidate.host.empty() ||
                           candidate.host == head->host;
    if (right_before && same_host && candidate.rank < 0 &&
        candidate.rule->code == "rdma_setup_failed") {
      candidate.rank = head->rank;
      candidate.node = head->node;
    }
  }
}

// "worker-6: Transport retry count exceeded", and a launcher's "rank 6 on node
// worker-6 exited": where one rank of a host ended, that rank wrote it.
void adopt_words_of_host(std::vector<Candidate>& candidates) {
  constexpr int kSeveral = -1;
  std::map<std::string, int> ended;
  for (const Candidate& candidate : candidates) {
    if (!candidate.death || candidate.rank < 0 || candidate.host.empty()) {
      continue;
    }
    const auto [at, first] = ended.emplace(candidate.host, candidate.rank);
    if (!first && at->second != candidate.rank) at->second = kSeveral;
  }
  for (Candidate& candidate : candidates) {
    const bool lost_peer = candidate.rule->role == CauseRole::kConsequence;
    if (candidate.rank >= 0 || candidate.death || lost_peer) continue;
    const auto at = ended.find(candidate.host);
    if (at != ended.end()) candidate.rank = at->second;
  }
}

// torchrun's "rank : 4", and "exitcode : -6" below it; Hydra's likewise.
void join_told_ends(std::vector<Candidate>& candidates) {
  constexpr int64_t kNextLines = 2 * kLogLineNs;
  const Candidate* head = nullptr;
  for (Candidate& candidate : candidates) {
    if (!candidate.death) continue;
    if (candidate.rank >= 0) {
      head = &candidate;
      continue;
    }
    if (head == nullptr || candidate.time_ns < head->time_ns ||
        candidate.time_ns - head->time_ns > kNextLines ||
        (!candidate.host.empty() && candidate.host != head->host)) {
      continue;
    }
    candidate.rank = head->rank;
    candidate.node = head->node;
    if (candidate.host.empty()) candidate.host = head->host;
  }
}

// Of "[rank0]: Traceback …" a report may show no end; the exception, which the
// launcher printed a second time, stands there without a tag.
void adopt_exceptions(std::vector<Candidate>& candidates) {
  const auto is_traceback = [](const Candidate& candidate) {
    return candidate.line.starts_with("Traceback (most recent call last)");
  };
  int rank = -1;
  for (const Candidate& candidate : candidates) {
    if (candidate.rank < 0) continue;
    if (!is_traceback(candidate) || (rank >= 0 && candidate.rank != rank)) {
      return;  // who else wrote what is known has an end of its own
    }
    rank = candidate.rank;
  }
  if (rank < 0) return;
  for (Candidate& candidate : candidates) {
    const size_t name = candidate.line.find("Error: ");
    const bool exception =
        name != std::string::npos && candidate.line.find(' ') > name;
    if (exception && !candidate.death) candidate.rank = rank;
  }
}

}  // namespace

void join_lines(std::vector<Candidate>& candidates) {
  join_told_ends(candidates);
  adopt_stacks(candidates);
  adopt_words_before(candidates);
  adopt_words_of_host(candidates);
  adopt_exceptions(candidates);
}

}  // namespace muster
