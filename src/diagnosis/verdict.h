// SPDX-License-Identifier: Apache-2.0
// Verdict: what ended the run, in a sentence a person can act on, and how sure
// that is. diagnose() is a pure function from evidence to verdict; the rules it
// applies are data (rules/*.rules, docs/failures.md).
// Refuses: "proven" without a fact of the kernel, a driver or a wait status; a
// consequence (lost peers, our own SIGTERM) winning over a first cause.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/evidence.h"

namespace muster {

class RuleBook;  // diagnosis/book/rule_book.h

enum class Confidence { kPossible, kLikely, kProven };
const char* to_text(Confidence confidence);

// Something else that was seen and is not the first cause.
struct AlsoSeen {
  std::string code;
  std::string text;  // "the same on 14 other ranks"
};

struct Verdict {
  std::string code;  // public: docs/failures.md, `muster explain CODE`
  // Name of an ExitClass, or "rank_failed": then exit_code is the rank's own.
  std::string exit_class;
  int exit_code = 0;
  bool retryable = false;  // the same job may well succeed when started again
  Confidence confidence = Confidence::kPossible;
  std::string headline;               // who, where, what: one sentence
  std::string cause;                  // one sentence more; may be empty
  std::vector<std::string> evidence;  // what was seen, most telling first
  std::vector<std::string> remedies;  // ranked, at most 3
  int first_rank = -1;                // -1: no single rank, or unknown
  std::string host;                   // empty: no single host, or unknown
  int equal_failures = 0;  // ranks (or workers) that failed the same way
  std::vector<AlsoSeen> also;

  [[nodiscard]] bool failed() const { return code != "no_failure"; }
};

// With the rules that are built in.
Verdict diagnose(const Evidence& evidence);
Verdict diagnose(const Evidence& evidence, const RuleBook& rules);

// At most `max_lines` (>= 3) lines of at most 400 bytes, each with a newline.
std::string verdict_text(const Verdict& verdict, int max_lines = 12);
// Plain text first, then what a program needs of it as JSON (code, class,
// exit_code, retryable, confidence, rank, host) if it fits; at most `max_bytes`
// (>= 256).
std::string termination_message(const Verdict& verdict,
                                size_t max_bytes = 3584);
// One JSON object on one line: code, class, exit_code, rank, host, confidence,
// summary, cause, evidence[], remedies[], also[]. docs/failures.md.
std::string verdict_json(const Verdict& verdict);

}  // namespace muster
