// SPDX-License-Identifier: Apache-2.0
// The plan for people: joins pods with equal settings.
#include <algorithm>
#include <utility>

#include "base/printable.h"
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

bool same_decision(const PortDecision& a, const PortDecision& b) {
  return a.chosen == b.chosen && a.kind == b.kind && a.role == b.role &&
         a.reason == b.reason;
}

// The same is to be said of both, also of what was seen.
bool same_story(const PodPlan& a, const PodPlan& b) {
  return a.alone == b.alone && a.interface_reason == b.interface_reason &&
         a.interface_rejected == b.interface_rejected &&
         std::equal(a.ports.begin(), a.ports.end(), b.ports.begin(),
                    b.ports.end(),
                    [](auto& x, auto& y) {
                      return x.name == y.name && same_decision(x, y);
                    }) &&
         std::equal(a.settings.begin(), a.settings.end(), b.settings.begin(),
                    b.settings.end(),
                    [](auto& x, auto& y) { return x.evidence == y.evidence; });
}

std::vector<std::vector<const PodPlan*>> alike(const FabricPlan& plan,
                                               bool explained) {
  std::vector<std::vector<const PodPlan*>> groups;
  for (const PodPlan& pod : plan.pods) {
    bool found = false;
    for (auto& group : groups) {
      const PodPlan& first = *group.front();
      if (first.env() == pod.env() && first.interface == pod.interface &&
          first.ports.size() == pod.ports.size() &&
          (!explained || same_story(first, pod))) {
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
    if (finding.remedy.empty()) continue;
    bool first = true;
    for (const auto line : split(finding.remedy, '\n')) {
      out += (first ? "  do: " : "      ") + std::string(line) + "\n";
      first = false;
    }
  }
  if (!plan.mpirun_args.empty()) {
    out += "for an mpirun line: " + join(plan.mpirun_args, " ") + "\n";
  }
}

void add_setting(std::string& out, const FabricSetting& setting) {
  out += "  " + setting.name + "=" + shell_quote(setting.value) + "\n";
}

void add_kept(std::string& out, const PodPlan& pod) {
  for (const auto& setting : pod.kept) {
    out += "  " + setting.name + "=" + setting.value + " kept (" +
           setting.evidence + ")\n";
  }
}

void add_reason(std::string& out, const FabricSetting& setting) {
  out += "    because " + setting.reason + "\n";
}

// Lists variables with one reason one below the other.
void add_settings(std::string& out, const std::vector<FabricSetting>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    add_setting(out, all[i]);
    const bool more = i + 1 < all.size() && all[i + 1].reason == all[i].reason;
    if (!more) add_reason(out, all[i]);
  }
}

const char* verdict_text(FabricVerdict verdict) {
  switch (verdict) {
    case FabricVerdict::kLeave:
      return "the defaults are right";
    case FabricVerdict::kSet:
      return "set what is listed here";
    case FabricVerdict::kWarn:
      return "it can run; read the warnings";
    case FabricVerdict::kTcp:
      return "NCCL uses TCP between pods";
    case FabricVerdict::kRefuse:
      return "do not start: it would fail or hang";
  }
  return "";
}

std::string heading(const FabricPlan& plan) {
  return plan.summary +
         "\nverdict: " + std::string(verdict_name(plan.verdict)) + " (" +
         verdict_text(plan.verdict) + ")\n";
}

// "TCP over eth0", "InfiniBand, started over eth0"
std::string network(const PodPlan& pod) {
  if (pod.interface.empty()) return pod.transport;
  return pod.transport + (pod.transport == "TCP" ? "" : ", started by TCP") +
         " over " + pod.interface;
}

// Ports of which the same is to say on one line.
void add_ports(std::string& out, const std::vector<PortDecision>& ports) {
  for (size_t i = 0; i < ports.size();) {
    size_t end = i + 1;
    while (end < ports.size() && same_decision(ports[i], ports[end])) ++end;
    const PortDecision& port = ports[i];
    out += std::string(port.chosen ? "  + " : "  - ") + port.name;
    if (end - i > 1) {
      out += (end - i > 2 ? " to " : ", ") + ports[end - 1].name;
    }
    out += " (" + (end - i > 2 ? std::to_string(end - i) + " ports, " : "") +
           port.kind + "): " + port.role + "; " + port.reason + "\n";
    i = end;
  }
}

}  // namespace

std::string plan_to_text(const FabricPlan& plan) {
  std::string out = heading(plan);
  for (const auto& group : alike(plan, false)) {
    const PodPlan& pod = *group.front();
    out += pod_names(group) + ": " + network(pod) + "\n";
    add_settings(out, pod.settings);
    add_kept(out, pod);
    if (pod.settings.empty()) out += "  nothing to set\n";
  }
  add_findings(out, plan);
  return without_controls(out, "\n");
}

std::string explain_plan(const FabricPlan& plan) {
  std::string out = heading(plan);
  if (!plan.transport_reason.empty()) {
    out += plan.transport + ": " + plan.transport_reason + "\n";
  }
  for (const std::string& rejected : plan.transport_rejected) {
    out += "  not " + rejected + "\n";
  }
  for (const auto& group : alike(plan, true)) {
    const PodPlan& pod = *group.front();
    out += "\n" + pod_names(group) + "\n  by itself, " + pod.alone + "\n";
    if (!pod.interface.empty()) {
      out += "  TCP over " + pod.interface + ": " + pod.interface_reason + "\n";
    }
    for (const std::string& rejected : pod.interface_rejected) {
      out += "    not " + rejected + "\n";
    }
    add_ports(out, pod.ports);
    for (const auto& setting : pod.settings) {
      add_setting(out, setting);
      add_reason(out, setting);
      if (!setting.evidence.empty())
        out += "    seen: " + setting.evidence + "\n";
      if (!setting.alone.empty()) out += "    alone: " + setting.alone + "\n";
      out += "    rule: " + setting.source + " (" +
             std::string(confidence_name(setting.confidence)) + ")\n";
      for (const std::string& rejected : setting.rejected) {
        out += "    not: " + rejected + "\n";
      }
    }
    add_kept(out, pod);
  }
  out += "\n";
  add_findings(out, plan);
  return without_controls(out, "\n");
}

}  // namespace muster
