// SPDX-License-Identifier: Apache-2.0
// Finds the owner of a failure if the line with the cause does not name it:
// launchers and error stacks name rank and host on other lines.
#include <cstdlib>

#include "diagnosis/cause/candidate.h"

namespace muster {

namespace {

// An error stack of MPI names its rank in its first line.
constexpr int64_t kSameStackNs = 12 * kLogLineNs;

using Fits = bool (*)(const Candidate& candidate, const Candidate& winner);

bool same_class(const Candidate& candidate, const Candidate& winner) {
  return candidate.rule == winner.rule;
}

// Reasons for which MPI's calls fail, so that their message may come later.
bool is_of_transport(const Rule& rule) {
  const std::string& code = rule.code;
  return code == "rdma_setup_failed" || code == "mlock_limit" ||
         code == "transport_unavailable" || code == "ib_retry_exceeded" ||
         code == "net_interface_wrong" || code == "shm_full" ||
         code == "cma_ptrace_denied" || code == "port_in_use" ||
         rule.role != CauseRole::kCause;
}

bool same_stack(const Candidate& candidate, const Candidate& winner) {
  const bool later = candidate.time_ns > winner.time_ns;
  return candidate.rule->role == CauseRole::kGeneric &&
         !(later && candidate.rule->code == "mpi_error" &&
           !is_of_transport(*winner.rule)) &&
         std::llabs(candidate.time_ns - winner.time_ns) <= kSameStackNs;
}

// A program that gives up calls it.
bool called_abort(const Candidate& candidate, const Candidate& /*winner*/) {
  return candidate.rule->code == "mpi_abort_by_user";
}

bool told_death(const Candidate& candidate, const Candidate& /*winner*/) {
  return candidate.death;
}

// "tasks 0-3: Killed": srun ends those who are left.
bool is_of_many(const Candidate& candidate) {
  return candidate.death &&
         candidate.line.find(": tasks ") != std::string::npos;
}

// The failures that take a whole worker away, or keep its daemon from starting,
// so that a launcher misses the worker.
bool lost_worker(const Candidate& candidate, const Candidate& winner) {
  const std::string& code = winner.rule->code;
  return candidate.rule->code == "daemon_lost" &&
         (code == "host_oom_kill" || code == "preempted" ||
          code == "pod_terminated" || code == "terminated_external" ||
          code == "sigkill_unexplained" || code == "gpu_hardware" ||
          code == "node_hardware" || code == "orted_not_found");
}

const Candidate* first(const std::vector<Candidate>& candidates,
                       const Candidate& winner, Fits fits, bool with_rank) {
  for (const Candidate& candidate : candidates) {
    const bool tells = with_rank ? candidate.rank >= 0 && !is_of_many(candidate)
                                 : !candidate.host.empty() &&
                                       (winner.rank < 0 || candidate.rank < 0 ||
                                        candidate.rank == winner.rank);
    if (tells && fits(candidate, winner)) return &candidate;
  }
  return nullptr;
}

}  // namespace

void name_owner(const std::vector<Candidate>& candidates, bool one_writer,
                Candidate& winner) {
  const auto fill = [&](bool with_rank) {
    for (const Fits fits :
         {same_class, same_stack, called_abort, lost_worker, told_death}) {
      const bool near = fits == same_stack || fits == called_abort;
      if (near && !one_writer) continue;
      const Candidate* const found = first(candidates, winner, fits, with_rank);
      if (found == nullptr) continue;
      if (with_rank) winner.rank = found->rank;
      // Rank and host of one statement belong together.
      if (winner.host.empty() || (with_rank && !found->host.empty())) {
        winner.host = found->host;
      }
      return;
    }
  };
  if (winner.rank < 0) fill(true);
  if (winner.host.empty()) fill(false);
}

}  // namespace muster
