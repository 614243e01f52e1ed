// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/job_check_report.h"

#include <algorithm>

#include "fabric/prove/judge_parts.h"
#include "job/json_fields.h"

namespace muster {

namespace {

size_t good_pairs(const JobCheck& check) {
  return static_cast<size_t>(
      std::count_if(check.pairs.begin(), check.pairs.end(),
                    [](auto& pair) { return pair.answer.code.empty(); }));
}

// "name: 41.2 us, sends 12.1 Gb/s, receives 11.9 Gb/s", by medians.
std::string pod_line(const JobCheck& check, size_t pod) {
  std::vector<double> latency;
  std::vector<double> sends;
  std::vector<double> receives;
  for (const TestedPair& pair : check.pairs) {
    if (!pair.answer.code.empty()) continue;
    const PairResult& result = pair.answer.result;
    if (pair.driver != pod && pair.peer != pod) continue;
    latency.push_back(result.latency_us);
    if (result.to_gbps < 0) continue;
    const bool driver = pair.driver == pod;
    sends.push_back(driver ? result.to_gbps : result.from_gbps);
    receives.push_back(driver ? result.from_gbps : result.to_gbps);
  }
  std::string out = "  " + check.pods[pod].name + ": ";
  if (latency.empty()) return out + "not measured\n";
  out += "round trip " + decimal(median_of(latency)) + " us";
  if (!sends.empty()) {
    out += ", sends " + decimal(median_of(sends)) + " Gb/s, receives " +
           decimal(median_of(receives)) + " Gb/s";
  }
  return out + "\n";
}

std::string rail_lines(const JobCheck& check) {
  std::string out;
  for (const TestedPair& pair : check.pairs) {
    for (const RailResult& rail : pair.answer.result.rails) {
      if (!rail.code.empty()) continue;
      out += "  " + rail.rail + " of " + check.pods[pair.driver].name + " to " +
             rail.peer_rail + " of " + check.pods[pair.peer].name +
             ": round trip " + decimal(rail.latency_us) + " us, writes " +
             decimal(rail.to_gbps) + " Gb/s, reads " + decimal(rail.from_gbps) +
             " Gb/s\n";
    }
  }
  return out;
}

template <class Json, class Pair>
void visit_pair(Json& json, const JobCheck& check, const Pair& pair) {
  json.field("from", check.pods[pair.driver].name);
  json.field("to", check.pods[pair.peer].name);
  json.field("code", pair.answer.code);
  json.field("latency_us", pair.answer.result.latency_us);
  json.field("to_gbps", pair.answer.result.to_gbps);
  json.field("from_gbps", pair.answer.result.from_gbps);
}

}  // namespace

JobCheckReport judge_check(const JobCheck& check) {
  JobCheckReport report;
  judge_pods(check, report.findings);
  judge_ways(check, report.findings);
  judge_rails(check, report.findings);
  judge_rates(check, report.findings);
  judge_counters(check, report.findings);
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](auto& a, auto& b) { return a.severity > b.severity; });
  for (const Finding& finding : report.findings) {
    const bool counts = finding.severity == Severity::kError ||
                        finding.code == "slow" || finding.code == "rdma_slow";
    if (!counts || finding.severity == Severity::kInfo) continue;
    report.exit_class = exit_class_of(finding.code);
    break;
  }
  return report;
}

std::string check_to_text(const JobCheck& check, const JobCheckReport& report,
                          double seconds) {
  std::string out;
  for (const Finding& finding : report.findings) {
    out += std::string(severity_name(finding.severity)) + ": " + finding.text;
    if (!finding.evidence.empty()) out += " (" + finding.evidence + ")";
    if (!finding.remedy.empty()) out += ". What to do: " + finding.remedy;
    out += "\n";
  }
  if (check.bench) {
    out += "by pod (medians over its pairs, TCP)\n";
    for (size_t i = 0; i < check.pods.size(); ++i) out += pod_line(check, i);
    const std::string rails = rail_lines(check);
    if (!rails.empty()) out += "RDMA\n" + rails;
  }
  const bool well = report.exit_class == 0;
  out += std::to_string(check.pods.size()) + " pods, " +
         std::to_string(good_pairs(check)) + " of " +
         std::to_string(check.pairs.size()) + " tests of pairs well, " +
         decimal(seconds) +
         " s: " + (well ? "nothing stands in the way" : "see above") + "\n";
  return out;
}

std::string check_to_json(const JobCheck& check, const JobCheckReport& report,
                          double seconds) {
  JsonWriter out;
  out.field("ok", report.exit_class == 0);
  out.field("exit_class", report.exit_class);
  out.field("seconds", seconds);
  out.objects("findings", report.findings, [](auto& json, auto& finding) {
    json.field("code", finding.code);
    json.field("severity", std::string(severity_name(finding.severity)));
    json.field("text", finding.text);
    json.field("evidence", finding.evidence);
    json.field("remedy", finding.remedy);
  });
  out.objects("pairs", check.pairs, [&](auto& json, auto& pair) {
    visit_pair(json, check, pair);
    json.objects("rails", pair.answer.result.rails, [](auto& in, auto& rail) {
      in.field("rail", rail.rail);
      in.field("peer_rail", rail.peer_rail);
      in.field("code", rail.code);
      in.field("text", rail.text);
      in.field("latency_us", rail.latency_us);
      in.field("to_gbps", rail.to_gbps);
      in.field("from_gbps", rail.from_gbps);
    });
  });
  return out.text() + "\n";
}

}  // namespace muster
