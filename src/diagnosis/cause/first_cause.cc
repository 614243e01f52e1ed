// SPDX-License-Identifier: Apache-2.0
// Finds the first cause. Reduces each rank to the candidate that says most
// about its own end; then the earliest rank that is not a mere victim wins.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "diagnosis/cause/candidate.h"
#include "diagnosis/cause/help_host.h"

namespace muster {

namespace {

// Clocks of hosts are aligned to a few milliseconds at best.
constexpr int64_t kSameTimeNs = 2'000'000;
constexpr int64_t kNever = INT64_MAX;
// An exit is known only when its message has arrived, a line is stamped where
// it was written.
constexpr int64_t kExitArrivesNs = 1'000'000'000;

// The order in which one line's classes speak about it.
int same_line_order(const Candidate& candidate) {
  switch (candidate.rule->role) {
    case CauseRole::kWeak:
      return candidate.death ? 5 : 0;
    case CauseRole::kConsequence:
      return 1;
    case CauseRole::kGeneric:
      // "ProcessExitedException: … SIGKILL" is a death, not an exception.
      if (candidate.death) return 2;
      [[fallthrough]];
    default:
      return candidate.maybe ? 4 : 3;
  }
}

// A maybe counts less than the class' own words, a proof more than both.
int weight(const Candidate& candidate) {
  return candidate.rule->priority - (candidate.maybe ? 30 : 0) +
         (candidate.confidence == Confidence::kProven ? 30 : 0);
}

// How little a candidate explains: a bare "Traceback" or "Bus error" counts
// only if nothing clearer does, an "exit code 1" only if nothing else does.
int vagueness(const Candidate& candidate) {
  if (candidate.death && candidate.rule->role == CauseRole::kWeak) return 2;
  return candidate.maybe && !candidate.fact ? 1 : 0;
}

// "EI9999: …": Huawei's CANN continues so behind an exception's own message,
// also behind a prefix of Ray or a launcher.
bool has_error_code(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr size_t kHead = 64;
  const size_t colon = line.substr(0, kHead).find(": ");
  if (colon == std::string_view::npos || colon < 6) return false;
  const size_t at = colon - 6;
  return line[at] == 'E' && (at == 0 || line[at - 1] == ' ') &&
         line.find_first_not_of(kDigits, at + 2) == colon;
}

// The reason in the rest of the same message, where the class only tells that
// a call failed. After an abort only "what():" belongs to that message, after
// an exception only a library's numbered errors.
const Candidate* reason_behind(const Candidate& bare,
                               const std::vector<const Candidate*>& own) {
  // Between the lines of a rank there may be those of others.
  const auto same_message = [&bare](const Candidate& later) {
    const int lines = bare.rule->message_lines;
    const bool near = later.time_ns - bare.time_ns <= lines * kLogLineNs ||
                      (bare.rank >= 0 && later.order > bare.order &&
                       later.order - bare.order <= static_cast<size_t>(lines));
    return later.time_ns > bare.time_ns && near;
  };
  // Open MPI begins each line of its message so. A lost daemon or a SIGTERM
  // that follows is its consequence.
  const bool starred = bare.line.find("*** ") != std::string::npos;
  // "Last error:" of a rank that heard of a lost peer.
  const bool victim_too = bare.rule->role == CauseRole::kConsequence;
  for (const Candidate* candidate : own) {
    const bool victim = (candidate->rule->role == CauseRole::kWeak &&
                         candidate->rule->code != "terminated_external") ||
                        candidate->rule->role == CauseRole::kConsequence;
    if (victim && !candidate->maybe && !candidate->death &&
        (!starred || candidate->line.find("*** ") != std::string::npos) &&
        candidate->rule != bare.rule && same_message(*candidate) &&
        (!victim_too || (candidate->rule->role == CauseRole::kWeak &&
                         weight(*candidate) > weight(bare))) &&
        (bare.host.empty() || candidate->host.empty() ||
         candidate->host == bare.host) &&
        (bare.rule->code != "abort_sigabrt" ||
         candidate->line.starts_with("what():")) &&
        (bare.rule->code != "python_exception" ||
         has_error_code(candidate->line))) {
      return candidate;
    }
  }
  return &bare;
}

// A launcher kills failed ranks, and a program that gives up aborts: the rank's
// own lines say more than relayed ones about its end. The relay of an abort may
// come first: it is another stream.
const Candidate* own_words(const Candidate& end,
                           const std::vector<const Candidate*>& own) {
  if (!end.death || end.fact) return &end;
  const bool abort = end.rule->code == "abort_sigabrt";
  if (!abort && end.rule->code != "sigkill_unexplained") return &end;
  for (const Candidate* candidate : own) {
    if (candidate->maybe || candidate->death) continue;
    if (abort || (candidate->rule->role == CauseRole::kGeneric &&
                  candidate->time_ns < end.time_ns)) {
      return candidate;
    }
  }
  return &end;
}

// A driver names a GPU by numbers; the rank's own message for the same error
// says what it did there.
const Candidate* words_for(const Candidate& best,
                           const std::vector<const Candidate*>& own) {
  if (!best.fact || !best.values.contains("xid")) return &best;
  const auto words =
      std::find_if(own.begin(), own.end(), [&best](const Candidate* candidate) {
        return candidate->rule == best.rule && !candidate->fact &&
               !candidate->maybe;
      });
  return words == own.end() ? &best : *words;
}

// The candidate that says most about one rank's end. A cause beats what is
// merely true; among the rest the earliest line wins, because what a program
// says later is about what it said before.
const Candidate* reduce(const std::vector<const Candidate*>& own) {
  const Candidate* best = nullptr;
  for (const Candidate* candidate : own) {
    if (!is_cause(*candidate) || candidate->maybe) continue;
    if (best == nullptr || weight(*candidate) > weight(*best)) {
      best = candidate;
    }
  }
  if (best != nullptr) return words_for(*best, own);
  const bool wrote_itself =
      std::any_of(own.begin(), own.end(), [](const Candidate* candidate) {
        return candidate->rank >= 0 && !candidate->relayed;
      });
  const auto key = [wrote_itself](const Candidate& candidate) {
    const int vague = vagueness(candidate);
    // Of several lines about one end, the one that names it best. A launcher's
    // line about a rank is in another stream than the rank's own.
    return std::make_tuple(vague, vague == 2 ? -weight(candidate) : 0,
                           wrote_itself && candidate.relayed, candidate.order,
                           same_line_order(candidate), -weight(candidate));
  };
  for (const Candidate* candidate : own) {
    if (best == nullptr || key(*candidate) < key(*best)) best = candidate;
  }
  if (best == nullptr) return best;
  const Candidate* const reason = reason_behind(*own_words(*best, own), own);
  // An abort's "what():" is the message of another class.
  return reason == best ? best : reason_behind(*reason, own);
}

// A wait status names a rank that ended by itself without saying why.
bool is_known_death(const Candidate& candidate) {
  return candidate.fact && candidate.death && candidate.rank >= 0 &&
         candidate.rule->role == CauseRole::kWeak;
}

// Classes compete in these steps; inside a step the earliest wins.
int step_of(const Candidate& candidate) {
  switch (candidate.rule->role) {
    case CauseRole::kControl:
      return 0;
    case CauseRole::kCause:
      return candidate.maybe ? 2 : 1;
    case CauseRole::kGeneric:
      // "exitcode: -6" without a rank: its place in a launcher's log says
      // nothing.
      if (candidate.death && !candidate.fact && candidate.rank < 0) return 3;
      return candidate.maybe && !candidate.fact ? 2 : 1;
    case CauseRole::kWeak:
      if (!candidate.death) return 3;
      // The peer whose loss the consequences are about, if it left first.
      if (is_known_death(candidate)) return 4;
      return candidate.rank >= 0 ? 5 : 6;  // "exit code 1", and of whom
    case CauseRole::kConsequence:
      return 4;
  }
  return 6;
}

int64_t happened_ns(const Candidate& candidate) {
  if (candidate.time_ns <= 0) return kNever;
  return candidate.time_ns - (is_known_death(candidate) ? kExitArrivesNs : 0);
}

bool earlier(const Candidate& a, const Candidate& b) {
  const int64_t time_a = happened_ns(a);
  const int64_t time_b = happened_ns(b);
  if (std::max(time_a, time_b) - std::min(time_a, time_b) > kSameTimeNs) {
    return time_a < time_b;
  }
  const auto key = [](const Candidate& candidate) {
    return std::make_tuple(-weight(candidate), candidate.rank < 0,
                           candidate.rank);
  };
  return key(a) < key(b);
}

// The rank waited in vain to the end of a time limit. A peer that is stopped by
// hand breaks connections; it does not make the time pass.
bool gave_up_waiting(const Candidate& candidate) {
  const std::string& code = candidate.rule->code;
  return !candidate.maybe &&
         (code == "rendezvous_timeout" || code == "nccl_timeout");
}

bool better(const Candidate& a, const Candidate& b) {
  const int step_a = step_of(a);
  const int step_b = step_of(b);
  if (step_a != step_b) {
    if ((a.rule->code == "interrupted" && gave_up_waiting(b)) ||
        (b.rule->code == "interrupted" && gave_up_waiting(a))) {
      return earlier(a, b);
    }
    // A failure before the job's SIGTERM is still the cause.
    if (std::min(step_a, step_b) == 0 && std::max(step_a, step_b) == 1) {
      return earlier(a, b);
    }
    return step_a < step_b;
  }
  return earlier(a, b);
}

bool same_owner(const Candidate& a, const Candidate& b) {
  return a.rank == b.rank && (a.rank >= 0 || a.node == b.node);
}

// Where the lines name no rank, a host's words are its own.
bool same_host(const Candidate& a, const Candidate& b) {
  return a.rank >= 0 || b.rank >= 0 || a.host.empty() || b.host.empty() ||
         a.host == b.host;
}

// A log without rank tags is one writer's: a launcher's line about rank 3 and
// the lines before it belong together.
bool has_tagged_lines(const Evidence& evidence) {
  return std::any_of(
      evidence.ranks.begin(), evidence.ranks.end(),
      [](const RankEvidence& rank) { return !rank.lines.empty(); });
}

// Which candidates may have the owner of another: a log has thousands of ranks,
// each with many lines.
class OwnerIndex {
 public:
  OwnerIndex(const std::vector<Candidate>& candidates, bool one_writer)
      : one_writer_(one_writer) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      by_rank_[key(candidates[i])].push_back(i);
    }
  }
  [[nodiscard]] const std::vector<size_t>& of(const Candidate& one) const {
    return by_rank_.at(key(one));
  }

 private:
  [[nodiscard]] int key(const Candidate& one) const {
    return one_writer_ ? -1 : std::max(one.rank, -1);
  }

  bool one_writer_;
  std::map<int, std::vector<size_t>> by_rank_;
};

// A rank that a launcher saw end before others waited in vain or lost a peer:
// they waited for it.
std::vector<Candidate>::iterator first_to_leave(
    std::vector<Candidate>& reduced) {
  auto first = reduced.end();
  for (auto it = reduced.begin(); it != reduced.end(); ++it) {
    const int step = step_of(*it);
    if (step < 3) return reduced.end();
    if (step == 5 && (first == reduced.end() || earlier(*it, *first))) {
      first = it;
    }
  }
  const bool all_later =
      first != reduced.end() &&
      std::all_of(reduced.begin(), reduced.end(), [&](const Candidate& other) {
        return step_of(other) >= 5 || other.time_ns > first->time_ns;
      });
  return all_later ? first : reduced.end();
}

// Of ranks that failed alike, the one that a launcher saw end: their lines may
// come in any order, and a launcher names the first.
std::vector<Candidate>::iterator whose_end_was_told(
    const std::vector<Candidate>& candidates, std::vector<Candidate>& reduced,
    std::vector<Candidate>::iterator best) {
  std::set<int> told_ranks;
  for (const Candidate& end : candidates) {
    if (end.death && end.relayed) told_ranks.insert(end.rank);
  }
  const auto ended = [&told_ranks](const Candidate& who) {
    return told_ranks.contains(who.rank);
  };
  if (best->rank < 0 || best->death || ended(*best)) return best;
  const auto told =
      std::find_if(reduced.begin(), reduced.end(), [&](const Candidate& other) {
        return other.rule == best->rule && other.rank >= 0 && ended(other);
      });
  return told == reduced.end() ? best : told;
}

// mpirun wrote the line for one of its ranks: the lines beside it name it, if
// that rank has failed.
void name_rank_of_tool(const Evidence& evidence,
                       const std::vector<Candidate>& candidates,
                       Candidate& winner) {
  std::vector<Candidate> written;
  for (const Candidate& candidate : candidates) {
    const bool own = !candidate.relayed && candidate.node >= 0;
    if (!candidate.fact && !own) written.push_back(candidate);
  }
  Candidate named = winner;
  name_owner(written, true, named);
  const RankEvidence* const rank = find_rank(evidence, named.rank);
  if (rank == nullptr || rank->outcome != RankOutcome::kExited ||
      rank->wait_status == 0) {
    return;
  }
  winner.rank = rank->rank;
  winner.node = rank->node;
  winner.host = rank->host;
}

void name_program(const Evidence& evidence, Candidate& winner) {
  if (winner.rule->code != "exe_not_runnable") return;
  std::string& program = winner.values["program"];
  if (program.empty()) program = program_behind(evidence, winner);
}

// As the job listed its ranks when it started.
std::string listed_host(const Evidence& evidence, int rank) {
  const std::vector<std::string>& hosts = evidence.job.rank_hosts;
  const bool listed = rank >= 0 && static_cast<size_t>(rank) < hosts.size();
  return listed ? hosts[static_cast<size_t>(rank)] : std::string();
}

}  // namespace

std::optional<Candidate> first_cause(const Evidence& evidence,
                                     std::vector<Candidate> candidates,
                                     std::vector<Candidate>& others) {
  drop_explained(evidence, candidates);
  const bool one_writer = evidence.job.bare_log && !has_tagged_lines(evidence);
  if (evidence.job.bare_log && !one_writer) {
    join_lines(candidates);
  }
  std::vector<Candidate> reduced;
  std::vector<bool> done(candidates.size(), false);
  const OwnerIndex owners(candidates, one_writer);
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (done[i]) continue;
    if (candidates[i].rule->role == CauseRole::kControl) {
      reduced.push_back(candidates[i]);
      continue;
    }
    std::vector<const Candidate*> own;
    for (const size_t k : owners.of(candidates[i])) {
      if (k < i || done[k] || !same_host(candidates[i], candidates[k]) ||
          !(one_writer || same_owner(candidates[i], candidates[k]))) {
        continue;
      }
      // An end on purpose competes by itself.
      if (candidates[k].rule->role == CauseRole::kControl) continue;
      done[k] = true;
      own.push_back(&candidates[k]);
    }
    if (const Candidate* best = reduce(own)) {
      reduced.push_back(*best);
      for (const Candidate* other : own) {  // a wait status proves the words
        if (other->rule != best->rule) continue;
        reduced.back().confidence =
            std::max(reduced.back().confidence, other->confidence);
      }
    }
  }
  drop_explained_ranks(evidence, reduced);
  auto best = evidence.job.bare_log ? first_to_leave(reduced) : reduced.end();
  if (best == reduced.end()) {
    best = std::min_element(reduced.begin(), reduced.end(), better);
  }
  if (best == reduced.end()) return std::nullopt;
  if (evidence.job.bare_log)
    best = whose_end_was_told(candidates, reduced, best);
  Candidate winner = *best;
  reduced.erase(best);
  others = std::move(reduced);
  if (evidence.job.bare_log) {
    name_owner(candidates, one_writer, winner);
    if (winner.rank < 0 && one_writer) winner.rank = evidence.job.local_failure;
    if (winner.host.empty()) winner.host = listed_host(evidence, winner.rank);
    if (winner.host.empty()) winner.host = host_behind(evidence, winner);
    if (std::string peer = missed_host(evidence, winner); !peer.empty()) {
      winner.rank = -1;
      winner.values["absent"] = "A process on " + peer;
      winner.host = std::move(peer);
    }
  } else if (!winner.fact && winner.node < 0) {
    if (winner.rank < 0) name_rank_of_tool(evidence, candidates, winner);
    if (winner.host.empty() && winner.rule->phase == "spawn") {
      winner.host = host_behind(evidence, winner);
    }
    name_program(evidence, winner);
    const bool lost = winner.rule->code == "daemon_lost";
    if (lost && winner.host.empty()) {
      winner.host = lost_daemon_host(evidence.job.tool_lines);
    }
  }
  return winner;
}

}  // namespace muster
