// SPDX-License-Identifier: Apache-2.0
// Which ranks stand out among all that run. The facts in order: how far they
// are, how busy their GPUs are, how busy their CPUs are. CPU time tells both
// kinds: one that works while the rest wait for it, and one that does not get
// on while the rest spin.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "diagnosis/log/last_progress.h"
#include "launcher/report/status.h"

namespace muster {

namespace {

// Shorter looks catch a rank between two steps.
constexpr int64_t kShortestLookMs = 7'500;
constexpr double kLeastCpu = 0.5;   // CPUs
constexpr double kLeastGpu = 50.0;  // percent

using Ranks = std::vector<RankStatus*>;

// The ranks among `all` that one fact singles out, unless they are too many to
// be exceptions.
void mark(const std::vector<std::pair<RankStatus*, std::string>>& odd,
          size_t all) {
  if (odd.size() > std::max<size_t>(1, all / 4)) return;
  for (const auto& [rank, why] : odd) {
    if (rank->straggler.empty()) rank->straggler = why;
  }
}

// The upper one of an even number.
double median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string percent(double value) {
  return std::to_string(static_cast<int64_t>(value + 0.5)) + " %";
}

// At least twice or half of the median, and by no less than `least`. Of two
// ranks neither is the exception.
void mark_by(const Ranks& ranks, const char* what, double least, double scale,
             double RankStatus::*value) {
  Ranks known;
  std::vector<double> values;
  for (RankStatus* rank : ranks) {
    if (rank->*value < 0 || rank->cpu_mean_ms < kShortestLookMs) continue;
    known.push_back(rank);
    values.push_back(rank->*value);
  }
  if (known.size() < 3) return;
  const double middle = median(values);
  std::vector<std::pair<RankStatus*, std::string>> odd;
  for (RankStatus* rank : known) {
    const double own = rank->*value;
    const bool low = middle >= least && own <= middle / 2;
    const bool high = own >= middle * 2 && own - middle >= least;
    if (!low && !high) continue;
    odd.emplace_back(rank, std::string(what) + " " + percent(own * scale) +
                               ", median " + percent(middle * scale) +
                               " over " + human_seconds(rank->cpu_mean_ms));
  }
  mark(odd, known.size());
}

struct Place {
  RankStatus* rank;
  std::vector<int64_t> now;
  std::vector<int64_t> before;
};

std::vector<int64_t> numbers(const std::vector<ProgressMark>& marks) {
  std::vector<int64_t> out;
  for (const ProgressMark& one : marks) out.push_back(one.at);
  return out;
}

std::string units(const std::vector<ProgressMark>& marks) {
  std::string out;
  for (const ProgressMark& one : marks) out += one.unit + " ";
  return out;
}

// "epoch 3/10 step 20/1000" -> "step 20", without the first mark.
std::string marks_from(std::ptrdiff_t first, const std::string& progress) {
  std::vector<ProgressMark> marks = progress_marks(progress);
  marks.erase(marks.begin(), marks.begin() + first);
  for (ProgressMark& mark : marks) mark.total = 0;
  return progress_text(marks);
}

// A rank is late where it is not yet where the median was ten seconds ago.
void mark_late(const Ranks& ranks) {
  std::map<std::string, std::vector<Place>> places;
  for (RankStatus* rank : ranks) {
    if (rank->progress_before_ms == 0) continue;  // too young
    const auto now = progress_marks(rank->progress);
    const auto before = progress_marks(rank->progress_before);
    if (now.empty() || units(now) != units(before)) continue;
    places[units(now)].push_back({rank, numbers(now), numbers(before)});
  }
  for (auto& [unit, group] : places) {
    if (group.size() < 2) continue;
    const auto middle =
        group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
    std::nth_element(
        group.begin(), middle, group.end(),
        [](const Place& a, const Place& b) { return a.before < b.before; });
    const RankStatus& reference = *middle->rank;
    std::vector<std::pair<RankStatus*, std::string>> odd;
    for (const Place& one : group) {
      if (one.now >= middle->before) continue;
      const std::ptrdiff_t same =
          std::mismatch(one.now.begin(), one.now.end(), middle->before.begin())
              .first -
          one.now.begin();
      odd.emplace_back(
          one.rank, marks_from(same, one.rank->progress) + ", the median had " +
                        marks_from(same, reference.progress_before) + " " +
                        human_seconds(reference.progress_before_ms) + " ago");
    }
    mark(odd, group.size());
  }
}

}  // namespace

void mark_stragglers(JobStatus& status) {
  Ranks running;
  for (RankStatus& rank : status.ranks) {
    rank.straggler.clear();
    if (rank.state == "running") running.push_back(&rank);
  }
  mark_late(running);
  mark_by(running, "GPU", kLeastGpu, 1, &RankStatus::gpu_mean);
  mark_by(running, "CPU", kLeastCpu, 100, &RankStatus::cpu_mean);
}

}  // namespace muster
