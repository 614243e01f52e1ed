// SPDX-License-Identifier: Apache-2.0
// The last tier of a verdict: no rule knows why the job ended, but some line
// has the shape of an error. Its words name a class ("cannot open": a missing
// file), with the confidence "possible" and the line itself in the summary.
// Refuses: to answer if a rule or a fact explains the end, and to blame
// warnings and failures that a line reports as survived. Pure.
#include <algorithm>
#include <set>
#include <utility>

#include "diagnosis/cause/advice.h"
#include "diagnosis/cause/candidate.h"
#include "logs/level.h"

namespace muster {

namespace {

bool says_nothing(const Candidate& candidate) {
  return candidate.rule->code == "unknown";
}

// "exit code 1", and of whom: an end, but no reason.
bool is_silent_end(const Candidate& candidate) {
  return candidate.rule->code == "exit_nonzero_silent";
}

bool is_calm(std::string_view line) {
  const auto level = detect_level(line);
  return level && *level <= LogLevel::kWarn;
}

// If wait statuses are known, only the words of failed ranks count.
bool may_have_failed(const Evidence& evidence, int rank) {
  if (evidence.job.bare_log) return true;
  const RankEvidence* const owner = find_rank(evidence, rank);
  return owner != nullptr && owner->outcome == RankOutcome::kExited &&
         owner->wait_status != 0 && !owner->stopped_by_us;
}

class Guesser {
 public:
  Guesser(const RuleBook& rules, bool bad_end)
      : rules_(rules), bad_end_(bad_end) {}

  // Turns an "unknown" candidate into one of the class its words mean. False:
  // the line is not an error, or the program survived it.
  bool guess(Candidate& candidate, bool known_shape) const {
    const LineGuess guess = rules_.guess(candidate.line);
    if (guess.calm) return false;
    if (is_calm(candidate.line) && !(bad_end_ && known_shape)) return false;
    if (!known_shape && !guess.error_shape) return false;
    const Rule* const rule = subject_of(without_asides(candidate.line));
    if (rule == nullptr || rule == candidate.rule) return true;
    // A launcher that sees a rank end ends the others.
    if (bad_end_ && rule->code == "terminated_external") return false;
    candidate.rule = rule;
    candidate.confidence = Confidence::kPossible;
    candidate.maybe = true;
    candidate.guess = true;
    return true;
  }

 private:
  // "Error executing script: shared directory /x does not exist": the last
  // clause tells what failed, if it has the shape of an error itself.
  [[nodiscard]] const Rule* subject_of(std::string_view text) const {
    constexpr size_t kShortest = 12;
    const LineGuess guess = rules_.guess(text);
    const Rule* const whole = guess.rule;
    if (whole != nullptr && whole->code == "unknown") return whole;
    const size_t colon = text.rfind(": ");
    if (whole == nullptr || colon == std::string_view::npos ||
        text.size() - colon < kShortest + 2) {
      return whole;
    }
    const LineGuess last = rules_.guess(text.substr(colon + 2));
    return last.error_shape && last.rule != nullptr ? last.rule : whole;
  }

  const RuleBook& rules_;
  bool bad_end_;
};

// Of several writers of errors, the one whose end a launcher reported.
void keep_who_ended(std::vector<Candidate>& candidates) {
  std::set<int> ends;
  for (const Candidate& end : candidates) {
    if (is_silent_end(end) && end.rank >= 0) ends.insert(end.rank);
  }
  const auto ended = [&ends](const Candidate& guess) {
    return ends.contains(guess.rank);
  };
  const auto is_guess = [](const Candidate& candidate) {
    return candidate.guess || says_nothing(candidate);
  };
  if (std::none_of(candidates.begin(), candidates.end(),
                   [&](const Candidate& candidate) {
                     return is_guess(candidate) && ended(candidate);
                   })) {
    return;
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return is_guess(candidate) && candidate.rank >= 0 && !ended(candidate);
  });
}

// A launcher's line about the end is not a reason for it.
using Places = std::set<std::pair<int64_t, size_t>>;

bool tells_an_end(const Candidate& line, const Places& ends) {
  return ends.contains({line.time_ns, line.order});
}

}  // namespace

void add_guesses(const Evidence& evidence, const RuleBook& rules,
                 std::vector<Candidate> tails,
                 std::vector<Candidate>& candidates) {
  const bool explained = std::any_of(
      candidates.begin(), candidates.end(), [](const Candidate& candidate) {
        return !says_nothing(candidate) && !is_silent_end(candidate);
      });
  if (explained) return;
  Places ends;
  bool bad_end = false;
  for (const Candidate& candidate : candidates) {
    if (!is_silent_end(candidate)) continue;
    bad_end = true;
    if (candidate.death) ends.emplace(candidate.time_ns, candidate.order);
  }
  const Guesser guesser(rules, bad_end);
  std::erase_if(candidates, [&](Candidate& candidate) {
    if (!says_nothing(candidate)) return false;
    return tells_an_end(candidate, ends) ||
           !may_have_failed(evidence, candidate.rank) ||
           !guesser.guess(candidate, true);
  });
  for (Candidate& tail : tails) {
    if (!may_have_failed(evidence, tail.rank)) continue;
    if (guesser.guess(tail, false)) candidates.push_back(std::move(tail));
  }
  keep_who_ended(candidates);
}

}  // namespace muster
