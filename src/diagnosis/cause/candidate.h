// SPDX-License-Identifier: Apache-2.0
// Candidate: one observation that may explain the failure of the job, with the
// values that rank it against others. Made from lines (line_candidates.cc) and
// from facts (fact_candidates.cc); one of them becomes the verdict
// (first_cause.cc, cause_owner.cc). Points into the evidence and the rule book.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/book/rule_book.h"
#include "diagnosis/evidence.h"
#include "diagnosis/verdict.h"

namespace muster {

struct Candidate {
  const Rule* rule = nullptr;
  Confidence confidence = Confidence::kLikely;
  bool maybe = false;    // a pattern of kind kMaybe
  bool death = false;    // reports how a process ended, not why
  bool script = false;   // a failed command of the job's script
  bool setup = false;    // what prepares the job's shell failed
  bool guess = false;    // from the words of a line that no rule knows
  bool relayed = false;  // about a rank, but written by another
  bool fact = false;     // from a wait status, a counter, a channel; not text
  int rank = -1;
  int node = -1;
  std::string host;
  int64_t time_ns = 0;  // 0: unknown
  size_t order = 0;     // position among the lines of its owner
  std::string line;     // the text, or a sentence about the fact
  Captures values;      // for the sentences of the rule
};

inline bool is_cause(const Candidate& candidate) {
  return candidate.rule->role == CauseRole::kCause;
}

// The values that a rank's memory, and its node's other facts, give to
// sentences: limit, no_limit, peak, memory_suggest, memory_state, last_memory,
// near_limit, shm_*, disk_*.
Captures node_values(const NodeEvidence* node);
// "--batch-size 128", "-b 32"; empty: none.
std::string batch_of(const std::vector<std::string>& argv);
// "train.py:51": the place of the exception of `winner`; may be empty.
std::string place_of_exception(const Evidence& evidence,
                               const Candidate& winner);
// "epoch 3/100": the progress of a job that was far from its end when its log
// ended. Not shortly before the end, which few programs number; may be empty.
std::string unfinished_work(const Captures& facts);
// Whether `line` names a file by its whole path.
bool holds_path(std::string_view line);
// Whether a traceback shows that `winner` opened a file to read it.
bool opens_to_read(const Evidence& evidence, const Candidate& winner);
const NodeEvidence* find_node(const Evidence& evidence, int node,
                              const std::string& host);
const RankEvidence* find_rank(const Evidence& evidence, int rank);
// The rank in a line; -1 if the text is not a rank's number.
int rank_number(std::string_view told);
// The counter of memory kills rose while the job ran.
bool oom_counter_rose(const NodeEvidence& node);
// The last sample was within 10 % of the limit, or memory was filling so fast
// that the limit was reached when the node went away.
bool was_near_limit(const NodeEvidence& node);

// If a relayed end gives a signal, by its number, name or code, the class
// becomes the signal's; no class occurs twice then.
void name_signals(const RuleBook& rules, std::vector<LineMatch>& matches);
// The signal whose class is `code`; 0: none, or several.
int signal_of_class(std::string_view code);

struct LineScan {
  std::vector<Candidate> candidates;
  // The last lines of each writer that match no rule, as "unknown" ones.
  std::vector<Candidate> tails;
  Captures facts;           // batch size, progress
  bool ended_well = false;  // the text says so, without a failure behind it
  bool saw_death = false;   // a launcher relayed a bad end
};
// `stopped`: also for ranks that the launcher stopped, whose last lines mostly
// concern its signal.
LineScan scan_lines(const Evidence& evidence, const RuleBook& rules,
                    bool stopped = false);
std::vector<Candidate> fact_candidates(const Evidence& evidence,
                                       const RuleBook& rules);

// The last tier: if no candidate says why, the likely meaning of the words in
// error lines. Drops "unknown" lines that the program says it survived.
void add_guesses(const Evidence& evidence, const RuleBook& rules,
                 std::vector<Candidate> tails,
                 std::vector<Candidate>& candidates);

// Removes candidates that another one explains; and, once each rank is reduced
// to one, ranks that another one explains.
void drop_explained(const Evidence& evidence,
                    std::vector<Candidate>& candidates);
void drop_explained_ranks(const Evidence& evidence,
                          std::vector<Candidate>& reduced);

// In a bare log with tagged lines: gives lines without a rank that of their
// message or host.
void join_lines(std::vector<Candidate>& candidates);

// In a bare log: fills in rank and host of `winner` from other lines.
void name_owner(const std::vector<Candidate>& candidates, bool one_writer,
                Candidate& winner);

// The first cause, if any, and in `others` the other causes of each rank.
std::optional<Candidate> first_cause(const Evidence& evidence,
                                     std::vector<Candidate> candidates,
                                     std::vector<Candidate>& others);

}  // namespace muster
