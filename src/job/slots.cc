// SPDX-License-Identifier: Apache-2.0
// The order of the terms and the sentences for each. Pure.
#include "job/slots.h"

#include <algorithm>
#include <cmath>

namespace muster {

namespace {

std::string gpu_words(const SlotsInput& input) {
  const std::string unit = input.mig ? "MIG slice" : "GPU";
  return std::to_string(input.gpus) + " " + unit + (input.gpus == 1 ? "" : "s");
}

struct CpuTerm {
  int cpus = 0;  // 0: unknown
  std::string words;
};

// A quota below one CPU still runs one rank; a fraction above is not a slot.
CpuTerm cpu_term(const SlotsInput& input) {
  CpuTerm term;
  if (input.cpus_allowed > 0) {
    term.cpus = input.cpus_allowed;
    term.words = "the pod may use " + std::to_string(term.cpus) + " CPUs";
  }
  if (input.cpu_quota > 0) {
    // Quotas come from floats: 4.0 may arrive as 3.9999.
    const double bounded = std::min(input.cpu_quota + 1e-6, 65536.0);
    const int quota = std::max(1, static_cast<int>(std::floor(bounded)));
    if (term.cpus == 0 || quota < term.cpus) {
      term.cpus = quota;
      term.words = "the pod's CPU limit is " + std::to_string(quota);
    }
  }
  return term;
}

Finding disagreement(const SlotsInput& input, int slots,
                     const std::string& said_by) {
  const bool too_many = slots > input.gpus;
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.code = too_many ? "slots_exceed_gpus" : "slots_below_gpus";
  finding.text = "host " + input.host + " has " + gpu_words(input) + ", but " +
                 said_by + " says " + std::to_string(slots) + " slots: " +
                 (too_many ? "several ranks will share a GPU"
                           : "some GPUs will have no rank");
  finding.evidence = said_by + "=" + std::to_string(slots) +
                     ", devices=" + std::to_string(input.gpus);
  finding.remedy = "set slotsPerWorker (numProcPerNode) to " +
                   std::to_string(input.gpus) +
                   " if each rank drives one GPU, or ignore this";
  return finding;
}

}  // namespace

SlotsDecision decide_slots(const SlotsInput& input) {
  SlotsDecision decision;
  const CpuTerm cpu = cpu_term(input);
  const std::string source =
      input.hostfile_source.empty() ? "the hostfile" : input.hostfile_source;
  std::string said_by;  // set where a person chose the number
  const auto offer = [&decision](int slots, const std::string& reason) {
    decision.notes.push_back(reason);
    if (!decision.reason.empty()) return false;
    decision.slots = slots;
    decision.reason = reason;
    return true;
  };
  if (input.user > 0) {
    const std::string words =
        "--slots-per-node says " + std::to_string(input.user);
    if (offer(input.user, words)) said_by = "--slots-per-node";
  }
  if (input.hostfile > 0) {
    const std::string words =
        source + " says " + std::to_string(input.hostfile);
    if (offer(input.hostfile, words)) said_by = source;
  }
  if (input.gpus > 0) {
    offer(input.gpus, "the pod shows " + gpu_words(input));
  }
  if (cpu.cpus > 0) offer(cpu.cpus, cpu.words);
  offer(1, "one rank per host if nothing else is known");

  if (input.gpus > 0 && !said_by.empty() && decision.slots != input.gpus) {
    decision.findings.push_back(disagreement(input, decision.slots, said_by));
  }
  return decision;
}

void add_facts(SlotsInput& input, const NodeFacts& facts) {
  input.gpus = facts.gpu.count;
  input.mig = std::any_of(
      facts.gpu.devices.begin(), facts.gpu.devices.end(),
      [](const std::string& device) { return device.starts_with("MIG-"); });
  input.cpu_quota = facts.cpu_quota;
  input.cpus_allowed = facts.cpus_allowed;
}

}  // namespace muster
