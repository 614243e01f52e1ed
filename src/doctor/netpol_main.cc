// SPDX-License-Identifier: Apache-2.0
#include "doctor/netpol_main.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/read_command_line.h"
#include "doctor/netpol.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

struct RawNetpol {
  NetpolRequest request;
  std::string posture = "default";
  std::string ports;
  std::vector<std::string> egress;
};

void define_options(CLI::App& app, RawNetpol& raw) {
  app.add_option("--job", raw.request.job, "name of the job")->required();
  app.add_option("--namespace", raw.request.name_space, "its namespace");
  app.add_option("--posture", raw.posture,
                 "default: the job's pods among themselves; restricted: only "
                 "the ports of --port-range; isolated: also nothing out but "
                 "names and --egress")
      ->check(CLI::IsMember({"default", "restricted", "isolated"}));
  app.add_option("--port-range", raw.ports,
                 "ports for MPI, as in 40000-40999; the output says how to "
                 "keep MPI inside");
  app.add_option("--ssh-port", raw.request.ssh_port,
                 "port of the workers "
                 "(2222)")
      ->transform(whole_number(1, 65535));
  app.add_option("--egress", raw.egress,
                 "isolated: CIDR:PORT that the job may reach, as an object "
                 "store");
  app.add_option("--label", raw.request.label,
                 "label of the job's pods whose value is its name "
                 "(training.kubeflow.org/job-name; a JobSet's is "
                 "jobset.sigs.k8s.io/jobset-name)");
}

Status finish(RawNetpol& raw) {
  if (raw.posture == "restricted") raw.request.posture = Posture::kRestricted;
  if (raw.posture == "isolated") raw.request.posture = Posture::kIsolated;
  if (!raw.ports.empty()) {
    const auto range = parse_port_range(raw.ports);
    if (!range) return fail(range.error());
    raw.request.ports = *range;
  }
  for (const std::string& text : raw.egress) {
    auto rule = parse_egress(text);
    if (!rule) return fail(rule.error());
    raw.request.egress.push_back(*std::move(rule));
  }
  return {};
}

}  // namespace

int netpol_main(const std::vector<std::string>& args) {
  RawNetpol raw;
  CLI::App app("Prints the NetworkPolicy that a job needs.", "muster netpol");
  define_options(app, raw);
  if (const auto code = read_command_line(app, args)) return *code;
  const auto ready = finish(raw);
  const auto text = ready ? write_netpol(raw.request)
                          : Result<std::string>(fail(ready.error()));
  if (!text) {
    std::fprintf(stderr, "muster netpol: %s\n", text.error().text().c_str());
    return exit_code_for(ExitClass::kUsage);
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace muster
