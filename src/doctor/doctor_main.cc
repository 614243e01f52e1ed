// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor_main.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "doctor/checks.h"
#include "job/exit_codes.h"
#include "job/json_fields.h"

namespace muster {

namespace {

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "info";
}

std::string indented(const std::string& yaml) {
  std::string out;
  for (const auto line : split(yaml, '\n')) {
    out += "      " + std::string(line) + '\n';
  }
  return out;
}

void print_text(const PodState& pod, const DoctorFindings& findings) {
  std::printf("%s: %s (%s)\n", pod.facts.hostname.c_str(),
              std::string(role_name(pod.contract.role)).c_str(),
              pod.contract.role_reason.c_str());
  for (const DoctorFinding& one : findings) {
    const Finding& f = one.finding;
    std::printf("\n%s: %s [%s]\n", severity_name(f.severity), f.text.c_str(),
                f.code.c_str());
    if (!f.evidence.empty()) std::printf("  seen: %s\n", f.evidence.c_str());
    if (!f.remedy.empty()) std::printf("  do: %s\n", f.remedy.c_str());
    if (!one.yaml.empty()) {
      std::printf("  add:\n%s", indented(one.yaml).c_str());
    }
  }
  if (findings.empty()) std::printf("nothing found that would stop a job\n");
}

void print_json(const PodState& pod, const DoctorFindings& findings) {
  JsonWriter writer;
  writer.field("doctor", 1);
  writer.field("hostname", pod.facts.hostname);
  writer.field("role", std::string(role_name(pod.contract.role)));
  writer.objects("findings", findings, [](JsonWriter& w, const auto& one) {
    w.field("severity", std::string(severity_name(one.finding.severity)));
    w.field("code", one.finding.code);
    w.field("text", one.finding.text);
    w.field("evidence", one.finding.evidence);
    w.field("remedy", one.finding.remedy);
    w.field("yaml", one.yaml);
  });
  std::printf("%s\n", writer.text().c_str());
}

}  // namespace

int doctor_main(const std::vector<std::string>& args) {
  DoctorOptions options;
  std::string output = "text";
  CLI::App app("Looks for what usually breaks a job in this pod.",
               "muster doctor");
  app.add_option("--check-path", options.paths,
                 "directories that the job writes to: there, writable, space, "
                 "latency");
  app.add_option("--program", options.programs,
                 "programs whose shared libraries must be there");
  app.add_option("--slots", options.slots,
                 "ranks that this pod is to run (default: the hostfile's)")
      ->check(CLI::Range(1, 65536));
  app.add_option("--sysroot", options.root,
                 "a recorded system instead of this one");
  app.add_option("-o,--output", output, "what to print (text)")
      ->check(CLI::IsMember({"text", "json"}));
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_code_for(ExitClass::kUsage);
  }
  const PodState pod = read_pod_state(options);
  const DoctorFindings findings = examine(pod);
  output == "json" ? print_json(pod, findings) : print_text(pod, findings);
  const bool stops =
      !findings.empty() && findings[0].finding.severity == Severity::kError;
  const int code =
      exit_code_for(stops ? ExitClass::kPreflight : ExitClass::kSuccess);
  std::fflush(stdout);
  // A thread that hangs in the resolver must not hold up, nor crash, the end.
  std::_Exit(code);
}

}  // namespace muster
