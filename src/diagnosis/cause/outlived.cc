// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/outlived.h"

#include <algorithm>

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

// Says by itself why the later attempt failed, not only how it ended. Who waits
// in vain for peers may still wait for those that the first failure took away,
// whatever exception that becomes.
bool is_reason(const Candidate& candidate, const std::vector<Candidate>& all) {
  const auto is_victim = [&candidate](const Candidate& other) {
    return other.time_ns == candidate.time_ns && !other.death &&
           (other.rule->role == CauseRole::kWeak ||
            other.rule->role == CauseRole::kConsequence);
  };
  return !candidate.maybe && !candidate.script && !candidate.death &&
         (candidate.rule->role == CauseRole::kCause ||
          (candidate.rule->role == CauseRole::kGeneric &&
           std::none_of(all.begin(), all.end(), is_victim)));
}

}  // namespace

void Outlived::record(const Captures& facts, const LineEvidence& line) {
  if (facts.contains("restart") && !is_advice(line.text)) {
    restart_ns_ = std::max(restart_ns_, line.time_ns);
  }
  const bool started = facts.contains("started");
  if ((started || facts.contains("scheduled")) && steps_.size() < kMaxSteps) {
    steps_.push_back({line.host, line.time_ns, started});
  }
}

void Outlived::drop_excused(int64_t time_ns, std::vector<Candidate>& found) {
  constexpr int64_t kMessageNs = 12 * kLogLineNs;
  std::erase_if(found, [&](const Candidate& candidate) {
    const bool reason = candidate.rule->role == CauseRole::kCause ||
                        candidate.rule->code == "unknown";
    return time_ns - candidate.time_ns <= kMessageNs && reason &&
           !candidate.death && candidate.confidence != Confidence::kProven;
  });
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
  return std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    const bool same = !step.host.empty() && step.host == candidate.host;
    return same && step.time_ns > candidate.time_ns &&
           (step.started || is_about_room(candidate));
  });
}

void Outlived::drop(std::vector<Candidate>& candidates) const {
  // All daemons were there before a launcher started any rank.
  std::erase_if(candidates, [this](const Candidate& one) {
    const bool reached =
        one.rank < 0 && one.rule->phase == "connect" && one.time_ns < ran_ns();
    return reached || came_up(one);
  });
  if (restart_ns_ < 0) return;  // most logs: what follows looks at all pairs
  const bool failed_again = std::any_of(
      candidates.begin(), candidates.end(), [&](const Candidate& other) {
        return other.time_ns > restart_ns_ && is_reason(other, candidates);
      });
  if (!failed_again) return;
  std::erase_if(candidates, [this](const Candidate& one) {
    return one.time_ns <= restart_ns_ && one.confidence != Confidence::kProven;
  });
}

}  // namespace muster
