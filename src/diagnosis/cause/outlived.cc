// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/outlived.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "diagnosis/cause/advice.h"

namespace muster {

namespace {

constexpr size_t kMaxSteps = 4096;
constexpr size_t kSeveral = 3;

bool is_about_room(const Candidate& candidate) {
  return candidate.values.contains("event") ||
         candidate.line.find("FailedScheduling") != std::string::npos ||
         candidate.line.find("unbound") != std::string::npos;
}

// Says by itself why the later attempt failed, not only how it ended. Ranks
// that wait in vain for peers may still wait for those that the first failure
// took away, with any exception.
bool is_reason(const Candidate& candidate, const std::set<int64_t>& victims) {
  return !candidate.maybe && !candidate.script && !candidate.death &&
         (candidate.rule->role == CauseRole::kCause ||
          (candidate.rule->role == CauseRole::kGeneric &&
           !victims.contains(candidate.time_ns)));
}

// The time of a line about a missed peer.
std::set<int64_t> times_of_victims(const std::vector<Candidate>& candidates) {
  std::set<int64_t> times;
  for (const Candidate& one : candidates) {
    const bool victim = one.rule->role == CauseRole::kWeak ||
                        one.rule->role == CauseRole::kConsequence;
    if (victim && !one.death) times.insert(one.time_ns);
  }
  return times;
}

}  // namespace

void Outlived::record(const Captures& facts, const LineEvidence& line) {
  if (facts.contains("restart") && !is_advice(line.text)) {
    restart_ns_ = std::max(restart_ns_, line.time_ns);
  }
  if (facts.contains("ran")) result_ns_ = std::max(result_ns_, line.time_ns);
  const bool started = facts.contains("started");
  if (line.host.empty() || (!started && !facts.contains("scheduled"))) return;
  if (steps_.size() >= kMaxSteps && !steps_.contains(line.host)) return;
  Step& step = steps_[line.host];
  step.last_ns = std::max(step.last_ns, line.time_ns);
  if (started) step.started_ns = std::max(step.started_ns, line.time_ns);
}

void Outlived::drop_excused(int64_t time_ns, std::vector<Candidate>& found) {
  constexpr int64_t kMessageNs = 12 * kLogLineNs;
  // They are in the order of their lines.
  auto first = found.end();
  while (first != found.begin() &&
         time_ns - std::prev(first)->time_ns <= kMessageNs) {
    --first;
  }
  const auto excused = [](const Candidate& candidate) {
    const bool reason = candidate.rule->role == CauseRole::kCause ||
                        candidate.rule->code == "unknown";
    return reason && !candidate.death &&
           candidate.confidence != Confidence::kProven;
  };
  found.erase(std::remove_if(first, found.end(), excused), found.end());
}

void Outlived::record_progress(int64_t time_ns) {
  progress_ns_.push_back(time_ns);
  std::sort(progress_ns_.begin(), progress_ns_.end());
  if (progress_ns_.size() > kSeveral) progress_ns_.erase(progress_ns_.begin());
}

int64_t Outlived::ran_ns() const {
  return progress_ns_.size() < kSeveral ? -1 : progress_ns_.front();
}

bool Outlived::ended_well(int64_t success_ns, int64_t trouble_ns) const {
  return restart_ns_ >= 0 && success_ns > restart_ns_ &&
         trouble_ns < restart_ns_;
}

bool Outlived::came_up(const Candidate& candidate) const {
  if (candidate.rule->code != "pod_not_started") return false;
  const auto step = steps_.find(candidate.host);
  return step != steps_.end() && (step->second.started_ns > candidate.time_ns ||
                                  (step->second.last_ns > candidate.time_ns &&
                                   is_about_room(candidate)));
}

void Outlived::drop(std::vector<Candidate>& candidates) const {
  // All daemons were there before a launcher started any rank.
  std::erase_if(candidates, [this](const Candidate& one) {
    const bool connects = one.rule->phase == "connect";
    const bool lost = one.rule->role == CauseRole::kConsequence && !one.death;
    const bool reached =
        one.rank < 0 && ((connects && one.time_ns < ran_ns()) ||
                         ((connects || lost) && one.time_ns < result_ns_));
    return reached || came_up(one);
  });
  if (restart_ns_ < 0) return;
  const std::set<int64_t> victims = times_of_victims(candidates);
  const bool failed_again = std::any_of(
      candidates.begin(), candidates.end(), [&](const Candidate& other) {
        return other.time_ns > restart_ns_ && is_reason(other, victims);
      });
  if (!failed_again) return;
  std::erase_if(candidates, [this](const Candidate& one) {
    return one.time_ns <= restart_ns_ && one.confidence != Confidence::kProven;
  });
}

}  // namespace muster
