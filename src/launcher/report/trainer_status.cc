// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/trainer_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"

namespace muster {

std::optional<JobProgress> parse_progress(const std::string& text) {
  const auto words = split_words(text);
  if (words.size() != 2) return std::nullopt;
  const auto numbers = split(words[1], '/');
  const auto at = parse_integer(numbers[0]);
  const auto total = numbers.size() == 2 ? parse_integer(numbers[1]) : 0;
  if (numbers.size() > 2 || !at || !total) return std::nullopt;
  return JobProgress{std::string(words[0]), *at, *total};
}

void TrainerStatus::note(const JobProgress& progress, int64_t now_ns) {
  const bool same_way = last_ && last_->unit == progress.unit &&
                        last_->total == progress.total &&
                        progress.at >= last_->at;
  if (same_way && progress.at == last_->at) return;
  if (!same_way) {
    first_ = progress;
    first_ns_ = now_ns;
  }
  last_ = progress;
  last_ns_ = now_ns;
  changed_ = true;
}

void TrainerStatus::complete() {
  complete_ = true;
  changed_ = true;
}

// At the pace since the first state, less the time since the last one.
std::optional<int64_t> TrainerStatus::remaining_seconds(int64_t now_ns) const {
  if (complete_) return 0;
  if (!last_ || last_->total <= 0 || last_->at <= first_->at) {
    return std::nullopt;
  }
  const double pace = static_cast<double>(last_ns_ - first_ns_) /
                      static_cast<double>(last_->at - first_->at);
  const double left = pace * static_cast<double>(std::max<int64_t>(
                                 last_->total - last_->at, 0)) -
                      static_cast<double>(now_ns - last_ns_);
  return static_cast<int64_t>(std::max(left, 0.0) / 1e9);
}

std::string TrainerStatus::json(int64_t now_ns) {
  changed_ = false;
  std::string now;
  append_timestamp(now, now_ns / 1'000'000'000 * 1'000'000'000);
  now.replace(now.find('.'), std::string::npos, "Z");
  nlohmann::ordered_json status;
  if (complete_) {
    status["progressPercentage"] = 100;
  } else if (last_ && last_->total > 0) {
    // Only a job that has ended well reports 100, not its last step.
    const int64_t at = std::min(last_->at, last_->total);
    status["progressPercentage"] =
        std::min<int64_t>(at * 100 / last_->total, 99);
  }
  if (const auto left = remaining_seconds(now_ns)) {
    status["estimatedRemainingSeconds"] = *left;
  }
  if (last_) {
    auto& metrics = status["metrics"] = nlohmann::ordered_json::array();
    metrics.push_back(
        {{"name", last_->unit}, {"value", std::to_string(last_->at)}});
    if (last_->total > 0) {
      metrics.push_back({{"name", "total_" + last_->unit},
                         {"value", std::to_string(last_->total)}});
    }
  }
  status["lastUpdatedTime"] = now;
  return nlohmann::ordered_json{{"trainerStatus", std::move(status)}}.dump();
}

}  // namespace muster
