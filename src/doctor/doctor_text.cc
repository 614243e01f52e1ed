// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor_text.h"

#include "base/text.h"
#include "job/json_fields.h"

namespace muster {

namespace {

constexpr size_t kMostNamed = 8;

std::string indented(const std::string& yaml) {
  std::string out;
  for (const auto line : split(yaml, '\n')) {
    out += "      " + std::string(line) + '\n';
  }
  return out;
}

std::string one_finding(const DoctorFinding& one, const std::string& where) {
  const Finding& f = one.finding;
  std::string out = std::string("\n") + severity_name(f.severity) + ": " +
                    f.text + " [" + f.code + "]\n";
  if (!where.empty()) out += "  in: " + where + "\n";
  if (!f.evidence.empty()) out += "  seen: " + f.evidence + "\n";
  if (!f.remedy.empty()) out += "  do: " + f.remedy + "\n";
  if (!one.yaml.empty()) out += "  add:\n" + indented(one.yaml);
  return out;
}

std::string hosts_text(const std::vector<std::string>& hosts, size_t all) {
  if (hosts.size() == all && all > 1) {
    return "all " + std::to_string(all) + " pods";
  }
  std::string out;
  for (size_t i = 0; i < hosts.size() && i < kMostNamed; ++i) {
    out += (i > 0 ? ", " : "") + hosts[i];
  }
  if (hosts.size() > kMostNamed) {
    out += " and " + std::to_string(hosts.size() - kMostNamed) + " more";
  }
  return out;
}

}  // namespace

std::string doctor_text(const DoctorReport& report) {
  std::string out = report.hostname + ": " + report.role + "\n";
  for (const ProgramState& program : report.programs) {
    for (const std::string& line : program.loads) out += "  " + line + "\n";
  }
  for (const DoctorFinding& one : report.findings) {
    out += one_finding(one, "");
  }
  if (report.findings.empty()) out += "nothing found that would stop a job\n";
  return out;
}

std::string doctor_job_text(const std::vector<PodAnswer>& answers,
                            const std::vector<SharedFinding>& findings) {
  size_t answered = 0;
  for (const PodAnswer& answer : answers) answered += answer.answered ? 1 : 0;
  std::string out = std::to_string(answered) + " of " +
                    std::to_string(answers.size()) + " pods examined\n";
  for (const SharedFinding& one : findings) {
    out += one_finding(one.what, hosts_text(one.hosts, answers.size()));
  }
  if (findings.empty()) out += "nothing found that would stop a job\n";
  return out;
}

std::string doctor_job_json(const std::vector<PodAnswer>& answers,
                            const std::vector<SharedFinding>& findings) {
  JsonWriter writer;
  writer.field("doctor_job", 1);
  writer.objects("pods", answers, [](auto& w, const auto& answer) {
    w.field("host", answer.host);
    w.field("answered", answer.answered);
    w.field("reason", answer.reason);
  });
  writer.objects("findings", findings, [](auto& w, const auto& one) {
    w.field("severity", std::string(severity_name(one.what.finding.severity)));
    w.field("code", one.what.finding.code);
    w.field("text", one.what.finding.text);
    w.field("hosts", one.hosts);
    w.field("evidence", one.what.finding.evidence);
    w.field("remedy", one.what.finding.remedy);
    w.field("yaml", one.what.yaml);
  });
  return writer.text();
}

}  // namespace muster
