// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/rank_history.h"

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "diagnosis/log/last_progress.h"

namespace muster {

namespace {

constexpr int64_t kWindowMs = 30'000;
constexpr int64_t kLookBackMs = 10'000;  // for progress
// Two samples that are nearer would make a rate of anything.
constexpr int64_t kShortestMs = 900;
constexpr size_t kLongestLine = 200;

// Whether a sample of `at_ms` may follow; old ones go.
template <class Sample>
bool make_room(std::vector<Sample>& samples, int64_t at_ms) {
  // A clock that goes backwards is another pod's.
  if (!samples.empty() && at_ms < samples.back().at_ms) samples.clear();
  if (!samples.empty() && at_ms - samples.back().at_ms < kShortestMs) {
    return false;
  }
  std::erase_if(samples, [at_ms](const Sample& one) {
    return at_ms - one.at_ms > kWindowMs;
  });
  return true;
}

template <class Sample, class Value>
double per_second(const Sample& from, const Sample& to, Value Sample::*value) {
  const double grown =
      static_cast<double>(to.*value) - static_cast<double>(from.*value);
  return std::max(grown, 0.0) * 1000 /
         static_cast<double>(to.at_ms - from.at_ms);
}

double mean_use(const std::vector<wire::GpuNow>& gpus) {
  double sum = 0;
  for (const wire::GpuNow& gpu : gpus) {
    if (gpu.percent < 0) return -1;
    sum += static_cast<double>(gpu.percent);
  }
  return gpus.empty() ? -1 : sum / static_cast<double>(gpus.size());
}

void add(int64_t& sum, int64_t value) {
  if (value >= 0) sum = std::max<int64_t>(sum, 0) + value;
}

}  // namespace

void RankHistory::used(int64_t at_ms, const wire::RankUse& use) {
  memory_bytes_ = use.memory_bytes;
  if (use.cpu_us >= 0 && make_room(uses_, at_ms)) {
    uses_.push_back({at_ms, use.cpu_us});
  }
}

void RankHistory::seen(int64_t now_ms, RankLook look) {
  lines_ = look.lines;
  gpus_ = std::move(look.gpus);
  read(look.newest);
  if (make_room(seen_, now_ms)) {
    seen_.push_back({now_ms, lines_, mean_use(gpus_), progress_});
  }
}

// Lines without progress or loss leave what was known before.
void RankHistory::read(const std::vector<LineEvidence>& newest) {
  if (newest.empty()) return;
  last_line_ = std::string(
      trim(utf8_prefix(without_escapes(newest.back().text), kLongestLine)));
  std::string progress;
  std::string loss;
  for (auto line = newest.rbegin(); line != newest.rend(); ++line) {
    const std::string text = without_escapes(line->text);
    if (progress.empty()) progress = progress_text(progress_marks(text));
    if (loss.empty()) loss = loss_in(text);
    if (!progress.empty() && !loss.empty()) break;
  }
  if (!progress.empty()) progress_ = std::move(progress);
  if (!loss.empty()) loss_ = std::move(loss);
}

void RankHistory::fill(RankStatus& out) const {
  out.memory_bytes = memory_bytes_;
  out.lines = static_cast<int64_t>(lines_);
  out.last_line = last_line_;
  out.progress = progress_;
  out.loss = loss_;
  if (uses_.size() > 1) {
    out.cpu =
        per_second(uses_[uses_.size() - 2], uses_.back(), &Use::cpu_us) / 1e6;
    out.cpu_mean = per_second(uses_.front(), uses_.back(), &Use::cpu_us) / 1e6;
    out.cpu_mean_ms = uses_.back().at_ms - uses_.front().at_ms;
  }
  for (const wire::GpuNow& gpu : gpus_) {
    out.gpus.push_back(gpu.id);
    add(out.gpu_memory_used, gpu.memory_used);
    add(out.gpu_memory_total, gpu.memory_total);
  }
  out.gpu_percent = mean_use(gpus_);
  if (seen_.size() < 2) return;
  const Seen& now = seen_.back();
  out.lines_per_second = per_second(seen_[seen_.size() - 2], now, &Seen::lines);
  for (const Seen& one : seen_) {
    if (now.at_ms - one.at_ms < kLookBackMs) break;
    out.progress_before = one.progress;
    out.progress_before_ms = now.at_ms - one.at_ms;
  }
  double sum = 0;
  for (const Seen& one : seen_) {
    if (one.gpu_percent < 0) return;
    sum += one.gpu_percent;
  }
  out.gpu_mean = sum / static_cast<double>(seen_.size());
}

}  // namespace muster
