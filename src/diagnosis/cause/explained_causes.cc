// SPDX-License-Identifier: Apache-2.0
// Candidates that another one explains, whatever their order: lines of a rank
// that was stopped, a script's own failures, evictions from a node that was
// lost, symptoms of a broken GPU.
#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include "diagnosis/cause/candidate.h"
#include "diagnosis/cause/fact_list.h"
#include "diagnosis/cause/unreached_peers.h"

namespace muster {

namespace {

// Text of a rank that was already being stopped tells about the stop.
void drop_after_stop(int64_t stop_ns, std::vector<Candidate>& candidates) {
  if (stop_ns <= 0) return;
  std::erase_if(candidates, [stop_ns](const Candidate& candidate) {
    return candidate.time_ns > stop_ns &&
           candidate.rule->role != CauseRole::kControl;
  });
}

// "Something failed" is an answer only if there is no other. Beside a silent
// end it is the last line of that rank, and never a line of its victims. In a
// log a line may be without its rank; live, such a line is mpirun's.
void drop_unknown(bool bare_log, std::vector<Candidate>& candidates) {
  const auto says_nothing = [](const Candidate& candidate) {
    return candidate.rule->code == "unknown";
  };
  const auto ends = [](const Candidate& candidate) {
    return candidate.rule->code == "exit_nonzero_silent";
  };
  const auto named = std::find_if(
      candidates.begin(), candidates.end(),
      [&](const Candidate& one) { return ends(one) && one.rank >= 0; });
  const int failed = named == candidates.end() ? -1 : named->rank;
  for (Candidate& candidate : candidates) {
    if (!ends(candidate)) continue;
    const int rank = candidate.rank < 0 ? failed : candidate.rank;
    const auto heard = std::find_if(
        candidates.begin(), candidates.end(), [&](const Candidate& other) {
          return says_nothing(other) &&
                 (rank == other.rank ||
                  (bare_log && (rank < 0 || other.rank < 0)));
        });
    if (heard != candidates.end() && candidate.line != heard->line) {
      candidate.values["heard"] = heard->line;
    }
  }
  if (std::all_of(candidates.begin(), candidates.end(), says_nothing)) return;
  std::erase_if(candidates, says_nothing);
}

// A rank that calls more than MPI_Init has met the same MPI: the part that PMIx
// could not read belonged to that call.
void drop_mismatch_of_started(std::vector<Candidate>& candidates) {
  const auto calls = [](const Candidate& candidate) {
    const auto call = candidate.values.find("reason");
    return candidate.rule->code == "mpi_error" &&
           call != candidate.values.end() && call->second.starts_with("MPI_") &&
           !call->second.starts_with("MPI_I") &&
           !call->second.starts_with("MPI_ERR");
  };
  if (std::none_of(candidates.begin(), candidates.end(), calls)) return;
  std::erase_if(candidates, [](const Candidate& candidate) {
    return candidate.rule->code == "mpi_version_mismatch" &&
           candidate.line.find("PMIX ERROR") != std::string::npos;
  });
}

// A script goes on after a command that fails ("nvidia-smi: command not
// found"): the failure behind it is the cause. A bare exit code may be the
// command's own.
void drop_script_errors(std::vector<Candidate>& candidates) {
  int64_t last = INT64_MIN;
  std::map<int, int64_t> last_of;  // by rank
  for (const Candidate& other : candidates) {
    const bool says_why = other.rule->code != "exit_nonzero_silent" &&
                          other.rule->code != "unknown" &&
                          other.rule->role != CauseRole::kControl;
    if (!says_why || other.script || other.maybe) continue;
    last = std::max(last, other.time_ns);
    int64_t& own = last_of.try_emplace(other.rank, INT64_MIN).first->second;
    own = std::max(own, other.time_ns);
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (!candidate.script) return false;
    const auto own = last_of.find(candidate.rank);
    const int64_t after = candidate.rank < 0     ? last
                          : own == last_of.end() ? INT64_MIN
                                                 : own->second;
    return after > candidate.time_ns;
  });
}

// No pod finds, or reaches, one that was not started.
void drop_absent_pods(std::vector<Candidate>& candidates) {
  std::set<std::string> absent;
  for (const Candidate& candidate : candidates) {
    if (candidate.rule->code == "pod_not_started" && !candidate.maybe) {
      absent.insert(candidate.host);
    }
  }
  if (absent.empty()) return;
  const bool unnamed = absent.contains({});
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const std::string& code = candidate.rule->code;
    if (code != "dns_unresolved" && code != "ssh_unreachable") return false;
    return unnamed ||
           absent.contains(candidate.host.substr(0, candidate.host.find('.')));
  });
}

// A line that looks like `code`, and a pattern of another class whose `mark`
// knows better.
void drop_misread(const std::string& mark, std::string_view code,
                  std::vector<Candidate>& candidates) {
  std::set<int64_t> known;
  for (const Candidate& candidate : candidates) {
    if (candidate.values.contains(mark)) known.insert(candidate.time_ns);
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.rule->code == code && known.contains(candidate.time_ns);
  });
}

// "This value will be ignored": a reason only where something failed.
void drop_lone_warnings(std::vector<Candidate>& candidates) {
  const auto warns = [](const Candidate& candidate) {
    return candidate.values.contains("warned");
  };
  if (std::all_of(candidates.begin(), candidates.end(), warns)) {
    candidates.clear();
  }
}

// Workers that lose the launcher end their processes: mpirun then misses its
// daemons, and ranks get a SIGTERM, which a launcher that gets no CPU may hear
// of first.
void drop_ended_by_workers(const Evidence& evidence,
                           std::vector<Candidate>& candidates) {
  const bool gave_up = std::any_of(
      evidence.nodes.begin(), evidence.nodes.end(),
      [](const NodeEvidence& n) { return n.error.code == "launcher_silent"; });
  if (!gave_up) return;
  std::erase_if(candidates, [](const Candidate& candidate) {
    return candidate.fact ? candidate.rule->code == "terminated_external"
                          : candidate.rule->code == "daemon_lost";
  });
}

// MPI_Abort with code 0: under mpirun the rank then ends with code 0, as if it
// had left without MPI_Finalize.
void drop_aborted_well(std::vector<Candidate>& candidates) {
  const bool aborted = std::any_of(
      candidates.begin(), candidates.end(), [](const Candidate& candidate) {
        return !candidate.maybe && candidate.rule->code == "mpi_abort_by_user";
      });
  if (!aborted) return;
  std::erase_if(candidates, [](const Candidate& candidate) {
    return candidate.fact && candidate.rule->code == "mpi_not_finalized";
  });
}

// A launcher that names one process says which ended first, or a process
// crashed. Not an abort: ranks that lose a peer give up so. srun names by tasks
// also those that it ended itself.
bool is_first_end(const Candidate& candidate) {
  if (!candidate.death || candidate.maybe || candidate.rank < 0) return false;
  const int signal = signal_of_class(candidate.rule->code);
  if (signal == SIGSEGV || signal == SIGFPE || signal == SIGILL) return true;
  return (signal == SIGKILL || signal == SIGTERM) &&
         candidate.line.find(" with PID ") != std::string::npos;
}

// The others lost the peer that this end took away, or could not reach it; and
// a call that failed with the connection tells no more.
void drop_symptoms_of_first_end(std::vector<Candidate>& candidates) {
  const auto end =
      std::find_if(candidates.begin(), candidates.end(), is_first_end);
  if (end == candidates.end()) return;
  const std::string rank = std::to_string(end->rank);
  const auto lost = [&](const Candidate& candidate) {
    if (candidate.death || candidate.fact) return false;
    const auto peer = candidate.values.find("peer");
    return candidate.rule->code == "peer_disconnect_only" ||
           candidate.values.contains("stale") ||
           (peer != candidate.values.end() && peer->second == rank);
  };
  std::vector<int64_t> lost_ns;
  for (const Candidate& candidate : candidates) {
    if (lost(candidate)) lost_ns.push_back(candidate.time_ns);
  }
  constexpr int64_t kMessageNs = 12 * kLogLineNs;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const bool failed_with_it =
        candidate.rule->code == "mpi_error" && !candidate.death &&
        std::any_of(lost_ns.begin(), lost_ns.end(), [&](int64_t at) {
          return candidate.time_ns >= at &&
                 candidate.time_ns - at <= kMessageNs;
        });
    return failed_with_it || lost(candidate);
  });
}

// A kernel that waits in vain for its peers traps, and CUDA reports a failed
// launch.
void drop_traps_of_waits(std::vector<Candidate>& candidates) {
  const auto waited =
      std::find_if(candidates.begin(), candidates.end(),
                   [](const auto& one) { return one.values.contains("trap"); });
  if (waited == candidates.end()) return;
  const int64_t waited_ns = waited->time_ns;
  std::erase_if(candidates, [waited_ns](const Candidate& candidate) {
    return candidate.rule->code == "cuda_illegal_access" &&
           candidate.time_ns > waited_ns;
  });
}

// An mpirun that has lost a daemon may end well without having started a rank.
void drop_empty_world(const Evidence& evidence,
                      std::vector<Candidate>& candidates) {
  const bool nobody = std::all_of(
      evidence.ranks.begin(), evidence.ranks.end(), [](const auto& rank) {
        return rank.outcome == RankOutcome::kNeverStarted;
      });
  const bool lost = std::any_of(
      candidates.begin(), candidates.end(), [](const Candidate& candidate) {
        return !candidate.maybe && candidate.rule->code == "daemon_lost";
      });
  if (!nobody || !lost) return;
  std::erase_if(candidates, [](const Candidate& candidate) {
    return candidate.rule->code == "world_size_mismatch";
  });
}

// Kubernetes evicts the pods of a node that it lost: the loss is the cause.
void drop_evictions_of_lost_nodes(std::vector<Candidate>& candidates) {
  const auto lost = [](const Candidate& candidate) {
    return candidate.values.contains("node_lost");
  };
  if (std::none_of(candidates.begin(), candidates.end(), lost)) return;
  const auto of_pod = [](const Candidate& candidate) {
    return candidate.line.find(" pod/") != std::string::npos;
  };
  const bool node_named = std::any_of(
      candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        return lost(candidate) && !candidate.host.empty() && !of_pod(candidate);
      });
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const bool evicted = candidate.rule->code == "preempted" &&
                         candidate.values.contains("by_taint");
    return evicted || (node_named && lost(candidate) && of_pod(candidate));
  });
}

// The kubelet says why it evicted a pod: that is the cause, not the SIGTERM.
// Other tables call the same pod just "Evicted".
void drop_reasoned_evictions(std::vector<Candidate>& candidates) {
  std::set<int64_t> reasoned;
  for (const Candidate& candidate : candidates) {
    if (candidate.values.contains("evicted_for")) {
      reasoned.insert(candidate.time_ns);
    }
  }
  if (reasoned.empty()) return;
  std::erase_if(candidates, [&reasoned](const Candidate& candidate) {
    return candidate.rule->code == "preempted" &&
           (reasoned.contains(candidate.time_ns) ||
            candidate.line.find("Evicted") != std::string::npos);
  });
}

// A scheduler that ends a job interrupts its ranks: it says why, they do not.
void drop_interrupted_by_scheduler(std::vector<Candidate>& candidates) {
  const auto interrupted = [](const Candidate& candidate) {
    return candidate.rule->code == "interrupted";
  };
  const auto told = [&](const Candidate& candidate) {
    return candidate.rule->role == CauseRole::kControl && !candidate.maybe &&
           !interrupted(candidate);
  };
  if (std::none_of(candidates.begin(), candidates.end(), told)) return;
  std::map<int, int64_t> last;  // per rank
  for (const Candidate& candidate : candidates) {
    if (interrupted(candidate)) last[candidate.rank] = candidate.time_ns;
  }
  // With the traceback that leads to it.
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const auto at = last.find(candidate.rank);
    if (at == last.end()) return false;
    const bool trace = candidate.maybe && candidate.time_ns < at->second &&
                       candidate.rule->code == "python_exception";
    return interrupted(candidate) || trace || candidate.time_ns == at->second;
  });
}

// In a log, an untagged "terminate called" after a tagged error is its tail.
// Not of who only lost a peer: the untagged one may be that peer.
void drop_untagged_tails(std::vector<Candidate>& reduced) {
  int64_t first = INT64_MAX;
  for (const Candidate& other : reduced) {
    if (other.rank >= 0 && other.rule->role != CauseRole::kConsequence) {
      first = std::min(first, other.time_ns);
    }
  }
  std::erase_if(reduced, [first](const Candidate& candidate) {
    return candidate.rank < 0 && !candidate.death &&
           candidate.rule->role == CauseRole::kGeneric &&
           candidate.time_ns > first;
  });
}

// Of a traceback without its end, NCCL's words before it say more.
void drop_open_tracebacks(std::vector<Candidate>& reduced) {
  int64_t first = INT64_MAX;
  for (const Candidate& other : reduced) {
    if (other.rule->code == "nccl_error") {
      first = std::min(first, other.time_ns);
    }
  }
  std::erase_if(reduced, [first](const Candidate& candidate) {
    return candidate.maybe && candidate.rule->code == "python_exception" &&
           !candidate.values.contains("exception") && candidate.time_ns > first;
  });
}

bool holds_another(const std::set<int>& ranks, int rank) {
  return ranks.size() > ranks.count(rank);
}

// An MPI call fails where another rank cannot take part. Not where one crashed:
// ranks also crash while MPI ends the job.
void drop_failed_calls_of_others(std::vector<Candidate>& reduced) {
  std::set<int> failed;
  for (const Candidate& other : reduced) {
    if (is_cause(other) && !other.maybe && !other.death && other.rank >= 0 &&
        other.rule->phase == "run" && other.rule->code != "segfault") {
      failed.insert(other.rank);
    }
  }
  std::erase_if(reduced, [&failed](const Candidate& candidate) {
    return candidate.rule->code == "mpi_error" &&
           holds_another(failed, candidate.rank);
  });
}

// "ucp_ep_create(proc=7) failed": rank 7 says why, if it failed itself.
void drop_who_names_peer(std::vector<Candidate>& reduced) {
  std::set<std::string> failed;
  for (const Candidate& other : reduced) {
    if (is_cause(other) && !other.maybe && other.rank >= 0) {
      failed.insert(std::to_string(other.rank));
    }
  }
  std::erase_if(reduced, [&failed](const Candidate& candidate) {
    const auto peer = candidate.values.find("peer");
    return peer != candidate.values.end() && failed.contains(peer->second) &&
           peer->second != std::to_string(candidate.rank);
  });
}

// A server that says why it does not serve says more than a client that
// noticed.
void drop_refused_clients(std::vector<Candidate>& reduced) {
  const auto serves_not = [](const Candidate& candidate) {
    return candidate.rule->code == "sshd_unavailable";
  };
  if (std::none_of(reduced.begin(), reduced.end(), serves_not)) return;
  std::erase_if(reduced, [](const Candidate& candidate) {
    return candidate.rule->code == "ssh_unreachable";
  });
}

bool is_hardware(const Candidate& candidate) {
  return candidate.rule->code == "node_hardware" ||
         (candidate.rule->code == "gpu_hardware" &&
          candidate.confidence == Confidence::kProven);
}

// A kernel's log and a rank's are two streams: the failure of a GPU or a node
// explains why its ranks could not use it, in any order of the two. A single
// rank with symptoms is the one that had the GPU.
void drop_symptoms_of_hardware(std::vector<Candidate>& reduced) {
  bool any = false;
  std::set<std::string> hosts;
  for (const Candidate& other : reduced) {
    if (!is_hardware(other)) continue;
    any = true;
    hosts.insert(other.host);
  }
  if (!any) return;
  std::set<int> ranks;
  std::erase_if(reduced, [&](const Candidate& candidate) {
    const std::string& code = candidate.rule->code;
    const bool symptom =
        code == "gpu_driver_platform" || code == "cuda_illegal_access" ||
        code == "abort_sigabrt" || (code == "shm_full" && candidate.maybe);
    const bool explained = symptom && !candidate.fact &&
                           (candidate.host.empty() || hosts.contains({}) ||
                            hosts.contains(candidate.host));
    if (explained && code != "abort_sigabrt") ranks.insert(candidate.rank);
    return explained;
  });
  if (ranks.size() != 1) return;
  for (Candidate& candidate : reduced) {
    const bool of_gpu = candidate.rule->code == "gpu_hardware";
    if (of_gpu && is_hardware(candidate) && candidate.rank < 0) {
      candidate.rank = *ranks.begin();
    }
  }
}

// "No CUDA GPUs are available", taken for a missing driver, of a pod whose GPUs
// and driver we have seen.
bool contradicts_gpus(const Evidence& evidence, const Candidate& candidate) {
  if (candidate.rule->code != "gpu_driver_platform" ||
      !finds_no_gpu(candidate.line)) {
    return false;
  }
  std::set<int> nodes;
  for (const NodeEvidence& node : evidence.nodes) {
    if (node.gpus > 0 && !node.gpu_driver.empty()) nodes.insert(node.node);
  }
  return std::any_of(evidence.ranks.begin(), evidence.ranks.end(),
                     [&](const RankEvidence& rank) {
                       return rank.rank == candidate.rank &&
                              nodes.contains(rank.node);
                     });
}

}  // namespace

void drop_explained(const Evidence& evidence,
                    std::vector<Candidate>& candidates) {
  drop_after_stop(evidence.job.stop_ns, candidates);
  drop_unknown(evidence.job.bare_log, candidates);
  if (!evidence.job.bare_log) {
    drop_unreached_peers(evidence, candidates);
    drop_ended_by_workers(evidence, candidates);
    drop_aborted_well(candidates);
    std::erase_if(candidates, [&evidence](const Candidate& candidate) {
      return contradicts_gpus(evidence, candidate);
    });
    drop_empty_world(evidence, candidates);
    return;
  }
  drop_mismatch_of_started(candidates);
  drop_script_errors(candidates);
  drop_absent_pods(candidates);
  // "ssh: Could not resolve hostname cd /work; python …": the line had no name.
  drop_misread("no_name", "dns_unresolved", candidates);
  // "/bin/sh: /etc/hosts: Permission denied": the file it should write.
  drop_misread("redirected", "exe_not_runnable", candidates);
  // "ucx function returned with failed status(… Input/output error)": no disk.
  drop_misread("over_network", "storage_failed", candidates);
  // "OutOfMemoryError()": Julia's, which PyTorch's looks like.
  drop_misread("of_host", "gpu_oom", candidates);
  drop_lone_warnings(candidates);
  drop_symptoms_of_first_end(candidates);
  drop_traps_of_waits(candidates);
  drop_evictions_of_lost_nodes(candidates);
  drop_reasoned_evictions(candidates);
  drop_interrupted_by_scheduler(candidates);
}

void drop_explained_ranks(const Evidence& evidence,
                          std::vector<Candidate>& reduced) {
  if (!evidence.job.bare_log) return;
  drop_untagged_tails(reduced);
  drop_open_tracebacks(reduced);
  drop_failed_calls_of_others(reduced);
  drop_who_names_peer(reduced);
  drop_refused_clients(reduced);
  drop_symptoms_of_hardware(reduced);
}

}  // namespace muster
