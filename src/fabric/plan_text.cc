// SPDX-License-Identifier: Apache-2.0
// The plan for people: pods with equal settings are told together.
#include <map>

#include "base/text.h"
#include "fabric/plan_json.h"

namespace muster {

namespace {

std::string pod_names(const std::vector<const PodPlan*>& pods) {
  std::string text = pods.front()->name;
  if (pods.size() == 2) text += ", " + pods[1]->name;
  if (pods.size() > 2) {
    text += " and " + std::to_string(pods.size() - 1) + " like it";
  }
  return text;
}

std::vector<std::vector<const PodPlan*>> alike(const FabricPlan& plan) {
  std::vector<std::vector<const PodPlan*>> groups;
  for (const PodPlan& pod : plan.pods) {
    bool found = false;
    for (auto& group : groups) {
      const PodPlan& first = *group.front();
      if (first.env() == pod.env() && first.interface == pod.interface &&
          first.ports.size() == pod.ports.size()) {
        group.push_back(&pod);
        found = true;
        break;
      }
    }
    if (!found) groups.push_back({&pod});
  }
  return groups;
}

void add_findings(std::string& out, const FabricPlan& plan) {
  for (const Finding& finding : plan.findings) {
    const char* word = finding.severity == Severity::kError     ? "error"
                       : finding.severity == Severity::kWarning ? "warning"
                                                                : "note";
    out += std::string(word) + " [" + finding.code + "] " + finding.text + "\n";
    if (!finding.remedy.empty()) out += "  do: " + finding.remedy + "\n";
  }
  if (!plan.mpirun_args.empty()) {
    out += "for an mpirun line: " + join(plan.mpirun_args, " ") + "\n";
  }
}

void add_setting(std::string& out, const FabricSetting& setting) {
  out += "  " + setting.name + "=" + shell_quote(setting.value) + "\n";
  out += "    because " + setting.reason + "\n";
}

}  // namespace

std::string plan_to_text(const FabricPlan& plan) {
  std::string out = plan.summary + "\n";
  for (const auto& group : alike(plan)) {
    const PodPlan& pod = *group.front();
    out += pod_names(group) + ": " + pod.transport;
    if (!pod.interface.empty()) out += ", TCP over " + pod.interface;
    out += "\n";
    for (const auto& setting : pod.settings) add_setting(out, setting);
    for (const auto& setting : pod.kept) {
      out += "  " + setting.name + "=" + setting.value + " kept (" +
             setting.evidence + ")\n";
    }
    if (pod.settings.empty()) out += "  nothing to set\n";
  }
  add_findings(out, plan);
  return out;
}

std::string explain_plan(const FabricPlan& plan) {
  std::string out = plan.summary + "\n";
  for (const auto& group : alike(plan)) {
    const PodPlan& pod = *group.front();
    out += "\n" + pod_names(group) + "\n  by itself, " + pod.alone + "\n";
    if (!pod.interface.empty()) {
      out += "  TCP over " + pod.interface + ": " + pod.interface_reason + "\n";
    }
    for (const PortDecision& port : pod.ports) {
      out += std::string(port.chosen ? "  + " : "  - ") + port.name + " (" +
             port.kind + "): " + port.role + "; " + port.reason + "\n";
    }
    for (const auto& setting : pod.settings) {
      add_setting(out, setting);
      if (!setting.evidence.empty())
        out += "    seen: " + setting.evidence + "\n";
      if (!setting.alone.empty()) out += "    alone: " + setting.alone + "\n";
      out += "    rule: " + setting.source + " (" +
             std::string(confidence_name(setting.confidence)) + ")\n";
      for (const std::string& rejected : setting.rejected) {
        out += "    not: " + rejected + "\n";
      }
    }
  }
  out += "\n";
  add_findings(out, plan);
  return out;
}

}  // namespace muster
