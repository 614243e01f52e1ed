// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/job_check_page.h"

#include "base/html_page.h"
#include "base/text.h"
#include "job/findings_table.h"

namespace muster {

namespace {

// The worst finding where it stops a job; notes are in the table.
std::string headline(const JobCheckReport& report) {
  if (report.exit_class == 0 || report.findings.empty()) {
    return "The network between the pods is well";
  }
  return report.findings[0].text;
}

HeatMap empty_map(const JobCheck& check, std::string what, std::string unit,
                  bool more_is_better) {
  HeatMap map;
  map.what = std::move(what);
  map.unit = std::move(unit);
  map.more_is_better = more_is_better;
  for (const CheckedPod& pod : check.pods) map.names.push_back(pod.name);
  map.values.assign(map.names.size() * map.names.size(), -1);
  return map;
}

HeatMap latency_map(const JobCheck& check) {
  HeatMap map = empty_map(check, "Round trip", "µs", false);
  const size_t all = map.names.size();
  for (const TestedPair& pair : check.pairs) {
    if (!pair.answer.code.empty()) continue;
    const double value = pair.answer.result.latency_us;
    map.values[pair.driver * all + pair.peer] = value;
    map.values[pair.peer * all + pair.driver] = value;
  }
  return map;
}

HeatMap rate_map(const JobCheck& check) {
  HeatMap map = empty_map(check, "Bandwidth", "Gb/s", true);
  const size_t all = map.names.size();
  for (const TestedPair& pair : check.pairs) {
    if (!pair.answer.code.empty()) continue;
    map.values[pair.driver * all + pair.peer] = pair.answer.result.to_gbps;
    map.values[pair.peer * all + pair.driver] = pair.answer.result.from_gbps;
  }
  return map;
}

std::string failed_pairs(const JobCheck& check) {
  std::string out;
  for (const TestedPair& pair : check.pairs) {
    if (pair.answer.code.empty()) continue;
    out += "<tr><td>" + html_text(check.pods[pair.driver].name) + "</td><td>" +
           html_text(check.pods[pair.peer].name) + "</td><td>" +
           html_text(pair.answer.text) + "</td></tr>";
  }
  if (out.empty()) return out;
  return "<h2>Pairs that failed</h2><table><tr><th>from</th><th>to</th>"
         "<th>how</th></tr>" +
         out + "</table>";
}

}  // namespace

std::string check_page(const JobCheck& check, const JobCheckReport& report,
                       double seconds) {
  const bool good = report.exit_class == 0;
  std::string body =
      std::string("<header><span class=\"badge") + (good ? " ok" : "") +
      "\">exit code " + std::to_string(report.exit_class) + "</span><h1>" +
      html_text(headline(report)) + "</h1><p class=\"soft\">" +
      std::to_string(check.pods.size()) + " pods, " +
      std::to_string(check.pairs.size()) + " pairs, " +
      human_duration_ms(static_cast<int64_t>(seconds * 1000)) +
      "</p></header><h2>Found</h2>" +
      (report.findings.empty() ? "<p>Nothing was found.</p>"
                               : findings_table(report.findings)) +
      failed_pairs(check);
  const std::string rates = heat_map_html(rate_map(check));
  if (!rates.empty()) body += "<h2>Bandwidth</h2>" + rates;
  const std::string latencies = heat_map_html(latency_map(check));
  if (!latencies.empty()) body += "<h2>Latency</h2>" + latencies;
  body += "<footer><p>muster " MUSTER_VERSION "</p></footer>";
  return html_page(
      "muster fabric: exit code " + std::to_string(report.exit_class), body);
}

}  // namespace muster
