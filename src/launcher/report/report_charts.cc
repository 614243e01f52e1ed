// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/report_charts.h"

#include <algorithm>
#include <map>

#include "base/html_page.h"
#include "base/text.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

constexpr int kWidth = 900;  // of the timeline, in its own units
constexpr int kLeft = 150;   // of the bars; names of workers stand there
constexpr int kBarHeight = 26;
constexpr int kLaneHeight = 14;
constexpr size_t kMostLanes = 128;
constexpr size_t kMostLetters = 26;
constexpr int kSparkWidth = 160;
constexpr int kSparkHeight = 32;

std::string number(double value) {
  const std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + 2);
}

std::string tooltip(const RankEvidence& rank) {
  std::string text = "rank " + std::to_string(rank.rank) + " on " + rank.host;
  switch (rank.outcome) {
    case RankOutcome::kExited:
      text += ": " + describe_wait_status(rank.wait_status);
      if (rank.stopped_by_us) text += ", stopped by muster";
      break;
    case RankOutcome::kRefused:
      text += ": " + rank.refusal.text();
      break;
    default:
      text += ": " + std::string(rank_class(rank));
  }
  if (rank.max_rss_kib > 0) {
    text += ", at most " +
            human_bytes(static_cast<uint64_t>(rank.max_rss_kib) * 1024);
  }
  return html_text(text);
}

// The whole in milliseconds, which is no less than the sum of the phases.
int64_t total_ms(const LaunchReport& report) {
  int64_t sum = 0;
  for (const PhaseTime& phase : report.phases) sum += phase.took.count();
  return std::max<int64_t>({sum, report.took.count(), 1});
}

struct Axis {
  double scale = 1;  // units per millisecond
  int64_t begin_ns = 0;

  [[nodiscard]] double at_ms(double ms) const {
    return std::clamp(kLeft + ms * scale, double{kLeft}, double{kWidth});
  }
  [[nodiscard]] double at_ns(int64_t ns) const {
    return at_ms(static_cast<double>(ns - begin_ns) / 1e6);
  }
};

Axis axis_of(const LaunchReport& report) {
  return {(kWidth - kLeft) / static_cast<double>(total_ms(report)),
          report.started_ns};
}

std::string line(std::string_view kind, double x1, double x2, double y1,
                 double y2, const std::string& title = {}) {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + number(x1) +
         "\" x2=\"" + number(x2) + "\" y1=\"" + number(y1) + "\" y2=\"" +
         number(y2) + "\">" +
         (title.empty() ? "" : "<title>" + title + "</title>") + "</line>";
}

// When the first rank ran, as far as the phases tell; < 0: never.
double start_ms(const LaunchReport& report) {
  double sum = 0;
  for (const PhaseTime& phase : report.phases) {
    if (phase.name == "run") return sum;
    sum += static_cast<double>(phase.took.count());
  }
  return -1;
}

std::string lane(const LaunchReport& report, const WorkerReport& worker,
                 const Axis& axis, double y) {
  const std::string name = html_text(worker.name);
  std::string out =
      "<text class=\"soft\" x=\"0\" y=\"" + number(y + 3) + "\">" +
      html_text(std::string_view(worker.name)
                    .substr(0, worker.name.find('.'))
                    .substr(0, kMostLetters)) +
      "<title>" + name + "</title></text>" + line("lane", kLeft, kWidth, y, y);
  if (worker.connect_ms >= 0) {
    out += line(
        "connect", kLeft, axis.at_ms(static_cast<double>(worker.connect_ms)), y,
        y, name + " connected after " + human_duration_ms(worker.connect_ms));
  }
  std::string ticks;
  double last = -1;
  for (const RankEvidence& rank : report.evidence.ranks) {
    if (rank.host != worker.name || rank.outcome != RankOutcome::kExited) {
      continue;
    }
    const double x = axis.at_ns(rank.exit_ns);
    last = std::max(last, x);
    ticks += line(rank_class(rank), x, x, y - 4, y + 4, tooltip(rank));
  }
  const double begin = start_ms(report);
  if (begin >= 0 && last > 0) {
    out += line("life", axis.at_ms(begin), last, y, y);
  }
  return out + ticks;
}

std::string phase_bars(const LaunchReport& report, const Axis& axis) {
  std::string out;
  double x = kLeft;
  int shade = 0;
  for (const PhaseTime& phase : report.phases) {
    const double width = static_cast<double>(phase.took.count()) * axis.scale;
    const std::string name = html_text(phase.name);
    const std::string took = human_duration_ms(phase.took.count());
    out += "<g><title>" + name + ": " + took + "</title><rect class=\"phase" +
           std::to_string(shade++ % 2) + "\" x=\"" + number(x) +
           "\" y=\"2\" width=\"" + number(std::max(width, 1.0)) +
           "\" height=\"" + std::to_string(kBarHeight) + "\"/>";
    // About 7 units per letter; what does not fit is in the table below.
    if (width > static_cast<double>(name.size()) * 7 + 8) {
      out += "<text x=\"" + number(x + 4) + "\" y=\"19\">" + name + "</text>";
    }
    out += "</g>";
    x += width;
  }
  return out;
}

}  // namespace

std::string_view rank_class(const RankEvidence& rank) {
  switch (rank.outcome) {
    case RankOutcome::kExited:
      if (rank.stopped_by_us) return "stopped";
      return rank.wait_status == 0 ? "ok" : "failed";
    case RankOutcome::kRefused:
      return "failed";
    case RankOutcome::kLost:
      return "lost";
    case RankOutcome::kRunning:
      return "running";
    case RankOutcome::kNeverStarted:
    case RankOutcome::kUnknown:
      break;
  }
  return "unstarted";
}

std::string timeline_svg(const LaunchReport& report) {
  const Axis axis = axis_of(report);
  const size_t lanes = std::min(report.workers.size(), kMostLanes);
  const int height = kBarHeight + 24 + static_cast<int>(lanes) * kLaneHeight;
  std::string out = "<svg class=\"timeline\" viewBox=\"0 0 " +
                    std::to_string(kWidth) + " " + std::to_string(height) +
                    "\" role=\"img\" aria-label=\"phases and workers over "
                    "time\">" +
                    phase_bars(report, axis);
  double y = kBarHeight + 14;
  for (size_t i = 0; i < lanes; ++i) {
    out += lane(report, report.workers[i], axis, y);
    y += kLaneHeight;
  }
  const std::string end = human_duration_ms(total_ms(report));
  out += "<text class=\"soft\" x=\"" + std::to_string(kLeft) + "\" y=\"" +
         number(y + 4) + "\">0 s</text><text class=\"soft\" x=\"" +
         std::to_string(kWidth) + "\" y=\"" + number(y + 4) +
         "\" text-anchor=\"end\">" + end + "</text></svg>";
  if (report.workers.size() > kMostLanes) {
    out += "<p class=\"soft\">the first " + std::to_string(kMostLanes) +
           " of " + std::to_string(report.workers.size()) + " workers</p>";
  }
  return out;
}

std::string rank_grid(const LaunchReport& report) {
  std::map<std::pair<int, std::string>, std::string> rows;
  for (const RankEvidence& rank : report.evidence.ranks) {
    rows[{rank.node, rank.host}] += "<i class=\"" +
                                    std::string(rank_class(rank)) +
                                    "\" title=\"" + tooltip(rank) + "\"></i>";
  }
  std::string out = "<div class=\"grid\">";
  for (const auto& [where, squares] : rows) {
    const std::string name = html_text(where.second);
    out += "<div><span title=\"" + name + "\">" + name + "</span><span>" +
           squares + "</span></div>";
  }
  return out + "</div>";
}

std::string memory_svg(const NodeEvidence& node) {
  if (node.memory.size() < 2) return "";
  const int64_t begin = node.memory.front().time_ns;
  const int64_t span = std::max<int64_t>(node.memory.back().time_ns - begin, 1);
  int64_t top = 1;
  int64_t limit = -1;
  int64_t most = 0;
  for (const MemorySample& sample : node.memory) {
    most = std::max(most, sample.bytes);
    top = std::max({top, sample.bytes, sample.limit});
    limit = std::max(limit, sample.limit);
  }
  const auto y = [&](int64_t bytes) {
    return number(kSparkHeight - 1 -
                  static_cast<double>(bytes) / static_cast<double>(top) *
                      (kSparkHeight - 2));
  };
  std::string points;
  for (const MemorySample& sample : node.memory) {
    if (sample.bytes < 0) continue;
    points += number(static_cast<double>(sample.time_ns - begin) /
                     static_cast<double>(span) * kSparkWidth) +
              "," + y(sample.bytes) + " ";
  }
  std::string out = "<svg class=\"spark\" viewBox=\"0 0 " +
                    std::to_string(kSparkWidth) + " " +
                    std::to_string(kSparkHeight) + "\">";
  if (limit > 0) {
    out += "<line class=\"limit\" x1=\"0\" x2=\"" +
           std::to_string(kSparkWidth) + "\" y1=\"" + y(limit) + "\" y2=\"" +
           y(limit) + "\"><title>limit " +
           human_bytes(static_cast<uint64_t>(limit)) + "</title></line>";
  }
  out += "<polyline points=\"" + points + "\"/></svg> " +
         human_bytes(static_cast<uint64_t>(most));
  if (limit > 0) out += " of " + human_bytes(static_cast<uint64_t>(limit));
  return out;
}

}  // namespace muster
