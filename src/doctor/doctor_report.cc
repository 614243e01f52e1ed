// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor_report.h"

#include "job/json_fields.h"

namespace muster {

namespace {

// One list of fields for both directions.
template <class Json, class Path>
void visit_path(Json& json, Path& path) {
  json.field("path", path.path);
  json.field("exists", path.exists);
  json.field("writable", path.writable);
  json.field("reason", path.reason);
  json.field("filesystem", path.filesystem);
  json.field("free_bytes", path.free_bytes);
  json.field("free_inodes", path.free_inodes);
  json.field("write_ms", path.write_ms);
  json.field("marks", path.marks);
}

template <class Json, class Program>
void visit_program(Json& json, Program& program) {
  json.field("program", program.program);
  json.field("path", program.path);
  json.field("missing", program.missing);
  json.field("libraries", program.libraries);
  json.field("loads", program.loads);
}

template <class Json, class Report>
void visit_report(Json& json, Report& report) {
  json.field("hostname", report.hostname);
  json.field("role", report.role);
  json.field("node", report.node);
  json.objects("paths", report.paths,
               [](auto& one, auto& path) { visit_path(one, path); });
  json.objects("programs", report.programs,
               [](auto& one, auto& program) { visit_program(one, program); });
  json.object_text("facts", report.facts);
}

}  // namespace

DoctorReport make_report(const PodState& pod, DoctorFindings findings) {
  DoctorReport report;
  report.hostname = pod.facts.hostname;
  report.role = std::string(role_name(pod.contract.role));
  report.node = pod.boot_id;
  report.findings = std::move(findings);
  report.paths = pod.paths;
  report.programs = pod.programs;
  NodeFacts facts = pod.facts;
  facts.environment.clear();  // may hold secrets; not compared
  report.facts = to_readable_json(facts);
  return report;
}

std::string to_json(const DoctorReport& report) {
  JsonWriter writer;
  writer.field("doctor", 1);
  writer.objects("findings", report.findings, [](auto& w, const auto& one) {
    w.field("severity", std::string(severity_name(one.finding.severity)));
    w.field("code", one.finding.code);
    w.field("text", one.finding.text);
    w.field("evidence", one.finding.evidence);
    w.field("remedy", one.finding.remedy);
    w.field("yaml", one.yaml);
  });
  visit_report(writer, report);
  return writer.text();
}

Result<DoctorReport> doctor_report_from_json(std::string_view text) {
  JsonReader reader(text, "a doctor's report");
  DoctorReport report;
  int version = 0;
  reader.required("doctor", version);
  reader.objects("findings", report.findings, [](auto& r, auto& one) {
    std::string severity;
    r.required("severity", severity);
    one.finding.severity = severity_of(severity);
    r.required("code", one.finding.code);
    r.field("text", one.finding.text);
    r.field("evidence", one.finding.evidence);
    r.field("remedy", one.finding.remedy);
    r.field("yaml", one.yaml);
  });
  visit_report(reader, report);
  if (auto done = reader.status(); !done) return fail(done.error());
  return report;
}

}  // namespace muster
