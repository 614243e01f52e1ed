// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_charts.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

constexpr int kWidth = 900;  // of the timeline, in its own units
constexpr int kBarHeight = 26;
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

// The whole in milliseconds: the clock's, or the sum of the phases.
int64_t total_ms(const LaunchReport& report) {
  int64_t sum = 0;
  for (const PhaseTime& phase : report.phases) sum += phase.took.count();
  return std::max<int64_t>(
      {sum, (report.ended_ns - report.started_ns) / 1'000'000, 1});
}

std::string rank_ticks(const LaunchReport& report, double scale) {
  std::string out;
  for (const RankEvidence& rank : report.evidence.ranks) {
    if (rank.outcome != RankOutcome::kExited) continue;
    const auto at =
        static_cast<double>(rank.exit_ns - report.started_ns) / 1e6 * scale;
    if (at < 0 || at > kWidth) continue;
    const std::string x = number(at);
    out += "<line class=\"" + std::string(rank_class(rank)) + "\" x1=\"" + x +
           "\" x2=\"" + x + "\" y1=\"34\" y2=\"46\"><title>" + tooltip(rank) +
           "</title></line>";
  }
  return out;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '\n' || c == '\t' ||
               static_cast<unsigned char>(c) >= 0x20) {
      if (c != 0x7f) out += c;
    }
  }
  return out;
}

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
  const double scale = kWidth / static_cast<double>(total_ms(report));
  std::string out = "<svg class=\"timeline\" viewBox=\"0 0 " +
                    std::to_string(kWidth) +
                    " 50\" role=\"img\" aria-label=\"phases over time\">";
  double x = 0;
  int shade = 0;
  for (const PhaseTime& phase : report.phases) {
    const double width = static_cast<double>(phase.took.count()) * scale;
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
  return out + rank_ticks(report, scale) + "</svg>";
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
    out += "<div><span>" + html_text(where.second) + "</span><span>" + squares +
           "</span></div>";
  }
  return out + "</div>";
}

std::string memory_svg(const NodeEvidence& node) {
  if (node.memory.size() < 2) return "";
  const int64_t begin = node.memory.front().time_ns;
  const int64_t span = std::max<int64_t>(node.memory.back().time_ns - begin, 1);
  int64_t top = 1;
  int64_t limit = -1;
  for (const MemorySample& sample : node.memory) {
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
  return out + "<polyline points=\"" + points + "\"/></svg>";
}

}  // namespace muster
