// SPDX-License-Identifier: Apache-2.0
#include "fabric/plan_json.h"

#include <nlohmann/json.hpp>

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

Json setting_json(const FabricSetting& setting) {
  return {{"library", setting.library},
          {"name", setting.name},
          {"value", setting.value},
          {"reason", setting.reason},
          {"evidence", setting.evidence},
          {"confidence", confidence_name(setting.confidence)},
          {"source", setting.source},
          {"alone", setting.alone},
          {"rejected", setting.rejected}};
}

Json pod_json(const PodPlan& pod) {
  Json out;
  out["name"] = pod.name;
  out["env"] = pod.env();
  out["reasons"] = Json::array();
  for (const auto& setting : pod.settings) {
    out["reasons"].push_back(setting_json(setting));
  }
  out["kept"] = Json::array();
  for (const auto& setting : pod.kept) {
    out["kept"].push_back(setting_json(setting));
  }
  out["transport"] = pod.transport;
  out["interface"] = pod.interface;
  out["interface_reason"] = pod.interface_reason;
  out["interface_rejected"] = pod.interface_rejected;
  out["alone"] = pod.alone;
  out["ports"] = Json::array();
  for (const PortDecision& port : pod.ports) {
    Json item = {{"name", port.name},
                 {"kind", port.kind},
                 {"chosen", port.chosen},
                 {"role", port.role},
                 {"reason", port.reason}};
    if (port.rate_gbps > 0) item["rate_gbps"] = port.rate_gbps;
    out["ports"].push_back(std::move(item));
  }
  return out;
}

}  // namespace

std::string plan_to_json(const FabricPlan& plan) {
  Json out;
  out["format"] = 1;
  out["verdict"] = verdict_name(plan.verdict);
  out["profile"] = plan.profile;
  out["transport"] = plan.transport;
  out["transport_reason"] = plan.transport_reason;
  out["transport_rejected"] = plan.transport_rejected;
  out["summary"] = plan.summary;
  out["pods"] = Json::array();
  for (const PodPlan& pod : plan.pods) out["pods"].push_back(pod_json(pod));
  out["findings"] = Json::array();
  for (const Finding& finding : plan.findings) {
    out["findings"].push_back({{"code", finding.code},
                               {"severity", severity_name(finding.severity)},
                               {"text", finding.text},
                               {"evidence", finding.evidence},
                               {"remedy", finding.remedy}});
  }
  out["mpirun_args"] = plan.mpirun_args;
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster
