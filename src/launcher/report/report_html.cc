// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/report_html.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/html_page.h"
#include "base/json_text.h"
#include "base/text.h"
#include "job/exit_codes.h"
#include "job/findings_table.h"
#include "launcher/report/report_charts.h"
#include "launcher/report/report_topology.h"

namespace muster {

namespace {

constexpr size_t kMostExcerpts = 8;
constexpr size_t kMostLines = 40;
constexpr size_t kManyWorkers = 16;  // from here on their table is folded

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
  const bool good = report.verdict.exit_code == 0;
  std::string out = "<header><span class=\"badge" +
                    std::string(good ? " ok" : "") + "\">exit code " +
                    std::to_string(report.verdict.exit_code) + "</span> " +
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
    out += "<tr>" + cell(end) + cell(std::to_string(members.size())) +
           cell(ranks_text(members)) + "</tr>";
  }
  return out + "</table>";
}

std::string ranks_section(const LaunchReport& report) {
  if (report.evidence.ranks.empty()) return "";
  return "<h2>Ranks</h2>" + exits_table(report.evidence.ranks) +
         rank_grid(report) +
         "<p class=\"legend soft\"><span><i class=\"ok\"></i> ended well"
         "</span><span><i class=\"failed\"></i> failed</span><span><i "
         "class=\"stopped\"></i> stopped by muster</span><span><i "
         "class=\"lost\"></i> lost with its worker</span><span><i></i> not "
         "started</span></p>";
}

std::string worker_row(const LaunchReport& report, const WorkerReport& worker) {
  std::string memory;
  for (const NodeEvidence& node : report.evidence.nodes) {
    if (node.host == worker.name) memory = memory_svg(node);
  }
  std::string note = worker.reason;
  if (worker.state == "not_ready" && !worker.step.empty()) {
    note = "at " + worker.step + (note.empty() ? "" : ": " + note);
  }
  const std::string state =
      worker.state == "not_ready" ? "not ready" : worker.state;
  return "<tr>" + cell(worker.name) + cell(state) +
         cell(worker.connect_ms < 0 ? ""
                                    : human_duration_ms(worker.connect_ms)) +
         cell(worker.ranks) + cell(note.empty() ? worker.machine : note) +
         "<td class=\"tight\">" + memory + "</td></tr>";
}

std::string workers_section(const LaunchReport& report) {
  if (report.workers.empty()) return "";
  const char* head =
      "<table><tr><th>worker</th><th>state</th><th>connected after</th>"
      "<th>ranks</th><th>machine</th><th>memory</th></tr>";
  std::string bad;
  std::string good;
  for (const WorkerReport& worker : report.workers) {
    (worker.state == "ready" ? good : bad) += worker_row(report, worker);
  }
  std::string out = "<h2>Workers</h2>";
  if (report.workers.size() < kManyWorkers) {
    return out + head + bad + good + "</table>";
  }
  if (!bad.empty()) out += head + bad + "</table>";
  return out + "<details><summary>" + std::to_string(report.workers.size()) +
         " workers: machine and memory of each</summary>" + head + good +
         "</table></details>";
}

std::string settings_section(const LaunchReport& report) {
  if (report.fabric.empty() && report.settings.empty()) return "";
  std::string out = "<h2>Network</h2><p>" + html_text(report.fabric) + "</p>";
  if (report.settings.empty()) return out;
  out += "<table><tr><th>setting</th><th>why</th></tr>";
  for (const std::string& setting : report.settings) {
    const size_t colon = setting.find(": ");
    out += "<tr><td><code>" + html_text(setting.substr(0, colon)) +
           "</code></td>" +
           cell(colon == std::string::npos ? "" : setting.substr(colon + 2)) +
           "</tr>";
  }
  return out + "</table>";
}

std::string findings_section(const LaunchReport& report) {
  const auto& findings = report.evidence.findings;
  if (findings.empty()) return "";
  return "<h2>Findings before the start</h2>" + findings_table(findings);
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
  std::vector<std::string> words;  // as typed in a shell
  for (const std::string& word : report.evidence.job.argv) {
    words.push_back(shell_quote(word));
  }
  const std::string command = join(words, " ");
  const std::string footer =
      "<footer><p><code>" + html_text(command) + "</code><br>" +
      timestamp(report.started_ns) + " to " + timestamp(report.ended_ns) +
      ", bootstrap " + html_text(report.bootstrap) + ", launch " +
      html_text(report.launch_id) + ", muster " MUSTER_VERSION "</p></footer>";
  return html_page(
      "muster: exit code " + std::to_string(report.verdict.exit_code),
      verdict_section(report) + log_section(report) + time_section(report) +
          ranks_section(report) + workers_section(report) +
          settings_section(report) + findings_section(report) + footer);
}

}  // namespace muster
