// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/log_clock.h"

#include <algorithm>
#include <numeric>

#include "diagnosis/evidence.h"
#include "logs/mark_scan.h"

namespace muster {

namespace {

enum Clock : size_t { kInFront, kInBrackets, kGlog };

constexpr size_t kFewTimes = 3;
constexpr size_t kMaxWriters = 4096;
constexpr int64_t kDayNs = 86'400'000'000'000;
constexpr int64_t kHalfYearNs = 180 * kDayNs;
constexpr int64_t kFarApart = 12 * kLogLineNs;

// "E1121 10:02:14.310" of glog: month, day and time, and no year.
int64_t glog_time(std::string_view text) {
  constexpr std::string_view kShape = "dddd dd:dd:dd.d";
  constexpr std::string_view kLevels = "IWEF";
  if (text.empty() || kLevels.find(text.front()) == std::string_view::npos) {
    return LogClock::kUnknown;
  }
  text.remove_prefix(1);
  // PyTorch leaves out the zero of a month: "E907 22:34:22".
  std::string padded;
  if (text.size() > 4 && text[3] == ' ') padded = "0" + std::string(text);
  if (!padded.empty()) text = padded;
  if (text.size() < kShape.size()) return LogClock::kUnknown;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool fits =
        kShape[i] == 'd' ? marks::digit(text[i]) : text[i] == kShape[i];
    if (!fits) return LogClock::kUnknown;
  }
  std::string date = "2000-";
  date.append(text.substr(0, 2)).append("-").append(text.substr(2, 2));
  date.append("T").append(text.substr(5));
  return parse_timestamp(date);
}

// A clock and its time; the clock is kClocks where there is none.
std::pair<size_t, int64_t> time_in(const ParsedLine& line) {
  if (line.time_ns >= 0) return {kInFront, line.time_ns};
  std::string_view text = line.message;
  if (const int64_t time = glog_time(text); time >= 0) return {kGlog, time};
  if (text.starts_with('[')) {
    text.remove_prefix(1);
    if (const int64_t time = glog_time(text); time >= 0) return {kGlog, time};
    if (const int64_t time = parse_timestamp(text); time >= 0) {
      return {kInBrackets, time};
    }
  }
  return {LogClock::kClocks, LogClock::kUnknown};
}

bool makes_sense(const std::vector<LogClock::Line>& lines, size_t clock) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  bool ordered = true;
  for (const LogClock::Line& line : lines) {
    const int64_t time = line.times[clock];
    if (time < 0) continue;
    ordered = ordered && time >= last;
    first = std::min(first, time);
    last = std::max(last, time);
  }
  return !ordered && last - first < kHalfYearNs;
}

}  // namespace

LogClock::Times LogClock::times_of(const std::string& writer,
                                   const ParsedLine& line) {
  const auto [clock, time] = time_in(line);
  const bool known = !writer.empty() && (last_of_.contains(writer) ||
                                         last_of_.size() < kMaxWriters);
  // A writer's first line stands where the log has it, and so does each of
  // those whom no tag tells apart.
  Times& own =
      known ? last_of_.try_emplace(writer, last_).first->second : last_;
  if (clock < kClocks) {
    own[clock] = time;
    ++told_[clock];
  }
  last_ = own;
  return own;
}

std::vector<int64_t> LogClock::places(const std::vector<Line>& lines) const {
  std::vector<int64_t> result;
  for (const Line& line : lines) result.push_back(line.line_ns);
  const size_t clock =
      std::max_element(told_.begin(), told_.end()) - told_.begin();
  if (told_[clock] < kFewTimes || !makes_sense(lines, clock)) return result;
  std::vector<size_t> order(lines.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lines[a].times[clock] < lines[b].times[clock];
  });
  int64_t place = kLogLineNs;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0) {
      const int64_t apart =
          lines[order[i]].line_ns - lines[order[i - 1]].line_ns;
      place += apart > 0 ? std::min(apart, kFarApart) : kFarApart;
    }
    result[order[i]] = place;
  }
  return result;
}

}  // namespace muster
