// SPDX-License-Identifier: Apache-2.0
// Verdict: the cause of a run's end, in a sentence that a person can act on,
// and its confidence. diagnose() is a pure function from evidence to verdict;
// its rules are data (rules/*.rules, docs/failures.md). Refuses: "proven"
// without a fact of the kernel, a driver or a wait status; a consequence (lost
// peers, our own SIGTERM) that wins over a first cause.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/evidence.h"

namespace muster {

class RuleBook;  // diagnosis/book/rule_book.h

enum class Confidence { kPossible, kLikely, kProven };
const char* to_text(Confidence confidence);

// Another observation that is not the first cause.
struct AlsoSeen {
  std::string code;
  std::string text;  // "the same on 14 other ranks"
};

struct Verdict {
  std::string code;  // public: docs/failures.md, `muster explain CODE`
  // Name of an ExitClass, or "rank_failed": then exit_code is the rank's own.
  std::string exit_class;
  int exit_code = 0;
  bool retryable = false;  // the same job may succeed when started again
  Confidence confidence = Confidence::kPossible;
  std::string headline;               // who, where, what: one sentence
  std::string cause;                  // one sentence more; may be empty
  std::vector<std::string> evidence;  // strongest first
  std::vector<std::string> remedies;  // ranked, at most 3
  int first_rank = -1;                // -1: no single rank, or unknown
  std::string host;                   // empty: no single host, or unknown
  int equal_failures = 0;  // ranks (or workers) that failed the same way
  std::vector<AlsoSeen> also;

  [[nodiscard]] bool failed() const { return code != "no_failure"; }
};

// With the built-in rules.
Verdict diagnose(const Evidence& evidence);
Verdict diagnose(const Evidence& evidence, const RuleBook& rules);

// At most `max_lines` (>= 3) lines of at most 400 bytes, each with a newline.
std::string verdict_text(const Verdict& verdict, int max_lines = 12);
// Plain text first, then the fields that a program needs as JSON (code, class,
// exit_code, retryable, confidence, rank, host) if they fit; at most
// `max_bytes` (>= 256).
std::string termination_message(const Verdict& verdict,
                                size_t max_bytes = 3584);
// One JSON object on one line: code, class, exit_code, rank, host, confidence,
// summary, cause, evidence[], remedies[], also[]. docs/failures.md.
std::string verdict_json(const Verdict& verdict);

}  // namespace muster
