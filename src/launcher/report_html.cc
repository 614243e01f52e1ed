// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_html.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/json_text.h"
#include "base/text.h"
#include "job/exit_codes.h"
#include "launcher/report_charts.h"

namespace muster {

namespace {

constexpr size_t kMostExcerpts = 8;
constexpr size_t kMostLines = 40;
constexpr size_t kMostNamed = 16;  // ranks named in one row

constexpr const char* kHead =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "'none'; style-src 'unsafe-inline'\">";

constexpr const char* kStyle =
    "<style>:root{--ink:#1c1f24;--soft:#667085;--paper:#fff;--line:#e3e6ea;"
    "--ok:#2e9e6b;--failed:#d3383e;--stopped:#9aa3af;--lost:#b4559c;"
    "--running:#3b7dd8;--unstarted:#d9dde3;--bar0:#c9d8f0;--bar1:#dfe8f6}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e7e9ec;--soft:#98a2b3;"
    "--paper:#15181d;--line:#2b3038;--unstarted:#3a404a;--bar0:#2c4263;"
    "--bar1:#24344d}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);"
    "background:var(--paper);max-width:960px;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.45rem;line-height:1.3;margin:.4rem 0}"
    "h2{font-size:1rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}"
    ".soft,footer{color:var(--soft)}.badge{display:inline-block;"
    "border-radius:4px;padding:0 .5em;color:#fff;background:var(--failed)}"
    ".badge.ok{background:var(--ok)}"
    "table{border-collapse:collapse;width:100%}"
    "td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top;"
    "border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}"
    "pre{overflow:auto;padding:.7rem;border:1px solid var(--line);"
    "border-radius:4px;font-size:13px}"
    "svg.timeline{width:100%;height:auto}svg text{font-size:12px;"
    "fill:var(--ink)}.phase0{fill:var(--bar0)}.phase1{fill:var(--bar1)}"
    "svg line{stroke-width:2}line.ok{stroke:var(--ok)}"
    "line.failed{stroke:var(--failed)}line.stopped{stroke:var(--stopped)}"
    ".grid div{display:flex;gap:1rem}.grid div>span:first-child{width:16rem;"
    "overflow:hidden;text-overflow:ellipsis;white-space:nowrap}"
    "i{display:inline-block;width:12px;height:12px;margin:1px;"
    "border-radius:2px;background:var(--unstarted)}i.ok{background:var(--ok)}"
    "i.failed{background:var(--failed)}i.stopped{background:var(--stopped)}"
    "i.lost{background:var(--lost)}i.running{background:var(--running)}"
    "svg.spark{width:160px;height:32px}.spark polyline{fill:none;"
    "stroke:var(--running);stroke-width:1.5}"
    ".spark .limit{stroke:var(--failed);stroke-width:1;stroke-dasharray:3}"
    "</style></head><body>";

std::string timestamp(int64_t ns) {
  std::string text;
  append_timestamp(text, ns);
  return text.substr(0, 19) + " UTC";
}

std::string cell(std::string_view text) {
  return "<td>" + html_text(text) + "</td>";
}

std::string list(const char* tag, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string out = std::string("<") + tag + ">";
  for (const std::string& item : items) {
    out += "<li>" + html_text(item) + "</li>";
  }
  return out + "</" + tag + ">";
}

std::string verdict_section(const LaunchReport& report) {
  const Verdict& verdict = report.verdict;
  const bool good = report.exit_code == 0;
  std::string out = "<header><span class=\"badge" +
                    std::string(good ? " ok" : "") + "\">exit code " +
                    std::to_string(report.exit_code) + "</span> " +
                    "<span class=\"soft\">" + html_text(verdict.exit_class);
  if (verdict.failed()) {
    out += ", " + std::string(to_text(verdict.confidence)) +
           (verdict.retryable ? ", worth a retry" : "");
  }
  out += "</span><h1>" +
         html_text(verdict.headline.empty() ? summary_line(report)
                                            : verdict.headline) +
         "</h1>";
  if (!verdict.cause.empty()) out += "<p>" + html_text(verdict.cause) + "</p>";
  out +=
      "<p class=\"soft\">" + html_text(summary_line(report)) + "</p></header>";
  if (!verdict.remedies.empty()) {
    out += "<h2>What to do</h2>" + list("ol", verdict.remedies);
  }
  if (!verdict.evidence.empty()) {
    out += "<h2>What was seen</h2>" + list("ul", verdict.evidence);
  }
  std::vector<std::string> also;
  for (const AlsoSeen& one : verdict.also) also.push_back(one.text);
  return out + list("ul", also);
}

std::string time_section(const LaunchReport& report) {
  std::string out = "<h2>Time</h2>" + timeline_svg(report) + "<table><tr>";
  for (const PhaseTime& phase : report.phases) {
    out += "<th>" + html_text(phase.name) + "</th>";
  }
  out += "</tr><tr>";
  for (const PhaseTime& phase : report.phases) {
    out += cell(human_duration_ms(phase.took.count()));
  }
  return out + "</tr></table>";
}

std::string how_it_ended(const RankEvidence& rank) {
  if (rank.stopped_by_us) return "stopped by muster";
  if (rank.outcome == RankOutcome::kExited) {
    return describe_wait_status(rank.wait_status);
  }
  if (rank.outcome == RankOutcome::kRefused) return "could not be started";
  return std::string(rank_class(rank));
}

std::string exits_table(const std::vector<RankEvidence>& ranks) {
  std::map<std::string, std::vector<int>> groups;
  for (const RankEvidence& rank : ranks) {
    groups[how_it_ended(rank)].push_back(rank.rank);
  }
  std::string out = "<table><tr><th>end</th><th>ranks</th><th>which</th></tr>";
  for (const auto& [end, members] : groups) {
    std::string which;
    for (size_t i = 0; i < std::min(members.size(), kMostNamed); ++i) {
      which += (i > 0 ? ", " : "") + std::to_string(members[i]);
    }
    if (members.size() > kMostNamed) which += ", …";
    out += "<tr>" + cell(end) + cell(std::to_string(members.size())) +
           cell(which) + "</tr>";
  }
  return out + "</table>";
}

std::string ranks_section(const LaunchReport& report) {
  if (report.evidence.ranks.empty()) return "";
  return "<h2>Ranks</h2>" + exits_table(report.evidence.ranks) +
         rank_grid(report);
}

std::string workers_section(const LaunchReport& report) {
  if (report.workers.empty()) return "";
  std::string out =
      "<h2>Workers</h2><table><tr><th>worker</th><th>state</th>"
      "<th>connected after</th><th>memory</th><th></th></tr>";
  for (const WorkerReport& worker : report.workers) {
    std::string memory;
    for (const NodeEvidence& node : report.evidence.nodes) {
      if (node.host == worker.name) memory = memory_svg(node);
    }
    std::string note = worker.reason;
    if (worker.state == "not_ready" && !worker.step.empty()) {
      note = "at " + worker.step + (note.empty() ? "" : ": " + note);
    }
    out += "<tr>" + cell(worker.name) + cell(worker.state) +
           cell(worker.connect_ms < 0 ? ""
                                      : human_duration_ms(worker.connect_ms)) +
           "<td>" + memory + "</td>" + cell(note) + "</tr>";
  }
  return out + "</table>";
}

std::string findings_section(const LaunchReport& report) {
  const auto& findings = report.evidence.findings;
  if (findings.empty()) return "";
  std::string out =
      "<h2>Findings before the start</h2><table><tr><th>what</th>"
      "<th>seen</th><th>what to do</th></tr>";
  for (const Finding& finding : findings) {
    out += "<tr>" + cell(finding.text) + cell(finding.evidence) +
           cell(finding.remedy) + "</tr>";
  }
  return out + "</table>";
}

// The first to fail, then those that failed by themselves, then lost ones.
std::vector<const RankEvidence*> telling_ranks(const LaunchReport& report) {
  std::vector<const RankEvidence*> ranks;
  for (const RankEvidence& rank : report.evidence.ranks) {
    const std::string_view kind = rank_class(rank);
    const bool tells = kind == "failed" || kind == "lost" ||
                       rank.rank == report.verdict.first_rank;
    if (tells && !rank.lines.empty()) ranks.push_back(&rank);
  }
  std::stable_sort(ranks.begin(), ranks.end(), [&](auto* a, auto* b) {
    const auto weight = [&](const RankEvidence& rank) {
      if (rank.rank == report.verdict.first_rank) return 0;
      return rank_class(rank) == "failed" ? 1 : 2;
    };
    return weight(*a) < weight(*b);
  });
  if (ranks.size() > kMostExcerpts) ranks.resize(kMostExcerpts);
  return ranks;
}

std::string excerpt(const std::vector<LineEvidence>& lines) {
  std::string out = "<pre>";
  const size_t begin =
      lines.size() > kMostLines ? lines.size() - kMostLines : 0;
  for (size_t i = begin; i < lines.size(); ++i) {
    out += html_text(lines[i].text) + '\n';
  }
  return out + "</pre>";
}

std::string log_section(const LaunchReport& report) {
  const auto ranks = telling_ranks(report);
  const auto& tool = report.evidence.job.tool_lines;
  if (ranks.empty() && tool.empty()) return "";
  std::string out = "<h2>Last lines</h2>";
  bool first = true;
  for (const RankEvidence* rank : ranks) {
    out += std::string("<details") + (first ? " open" : "") +
           "><summary>rank " + std::to_string(rank->rank) + " on " +
           html_text(rank->host) + ", " + html_text(how_it_ended(*rank)) +
           "</summary>" + excerpt(rank->lines) + "</details>";
    first = false;
  }
  if (!tool.empty()) {
    out += "<details><summary>mpirun</summary>" + excerpt(tool) + "</details>";
  }
  return out;
}

}  // namespace

std::string report_html(const LaunchReport& report) {
  const std::string command = join(report.evidence.job.argv, " ");
  return std::string(kHead) + "<title>muster: exit code " +
         std::to_string(report.exit_code) + "</title>" + kStyle +
         verdict_section(report) + time_section(report) +
         ranks_section(report) + workers_section(report) +
         findings_section(report) + log_section(report) + "<footer><p>" +
         html_text(command) + "<br>" + timestamp(report.started_ns) + " to " +
         timestamp(report.ended_ns) + ", bootstrap " +
         html_text(report.bootstrap) + ", launch " +
         html_text(report.launch_id) +
         ", muster " MUSTER_VERSION "</p></footer></body></html>\n";
}

}  // namespace muster
