// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/job_fabric.h"

#include <set>

#include "fabric/facts/facts_json.h"

namespace muster {

namespace {

Result<PodFabric> pod_fabric(const FabricPod& pod) {
  PodFabric out;
  if (!pod.facts_json.empty()) {
    auto file = read_facts(pod.facts_json, "facts of " + pod.name);
    if (!file) return fail(file.error());
    out = std::move(file->pods[0]);
  }
  out.name = pod.name;
  out.peer_address = pod.peer_address;
  if (pod.host_network) out.host_network = true;
  out.environment.clear();
  for (const auto& [name, value] : pod.env) out.environment[name] = value;
  out.mpi.family = pod.mpi_family;
  out.mpi.version = pod.mpi_version;
  return out;
}

void take_settings(const FabricPlan& plan, JobFabric& out) {
  std::set<std::string> told;
  for (const PodPlan& pod : plan.pods) {
    Environment env;
    for (const auto& [name, value] : pod.env()) env.emplace_back(name, value);
    out.env.push_back(std::move(env));
    for (const FabricSetting& setting : pod.settings) {
      const std::string text =
          setting.name + "=" + setting.value + ": " + setting.reason;
      if (told.insert(text).second) out.reasons.push_back(text);
    }
    for (const FabricSetting& setting : pod.kept) {
      const std::string text = setting.name + "=" + setting.value;
      if (told.insert("kept " + text).second) out.kept.push_back(text);
    }
  }
}

Result<FabricPlan> plan_pods(const std::vector<FabricPod>& pods,
                             const NetworkWish& wish) {
  auto request = fabric_request(wish);
  if (!request) return fail(request.error());
  std::vector<PodFabric> facts;
  for (const FabricPod& pod : pods) {
    auto one = pod_fabric(pod);
    if (!one) return fail(one.error());
    facts.push_back(std::move(*one));
  }
  return plan_fabric(facts, *request);
}

Status allow(FabricPlan& plan, const NetworkWish& wish) {
  for (Finding& finding : plan.findings) {
    if (auto may = refuse_unless_forced(finding, wish.force); !may) return may;
  }
  return {};
}

}  // namespace

Status refuse_unless_forced(Finding& finding, bool force) {
  if (finding.severity != Severity::kError) return {};
  if (!force) {
    return fail(Error{"fabric_refused",
                      finding.text,
                      finding.evidence,
                      {},
                      finding.remedy + (finding.remedy.empty() ? "" : ", or ") +
                          "pass --force to start all the same"});
  }
  finding.severity = Severity::kWarning;
  return {};
}

Result<FabricRequest> fabric_request(const NetworkWish& wish) {
  FabricRequest request;
  auto parsed = parse_profile(wish.profile);
  if (!parsed) return fail(parsed.error());
  request.profile = *parsed;
  request.profile_word = wish.profile;
  for (const std::string& text : wish.app_profiles) {
    auto app = parse_app_profile(text);
    if (!app) return fail(app.error());
    request.apps.push_back(std::move(*app));
  }
  auto site = parse_site_file(wish.site_text, wish.site_path);
  if (!site) return fail(site.error());
  request.site = std::move(*site);
  return request;
}

Result<JobFabric> plan_job_fabric(const std::vector<FabricPod>& pods,
                                  const NetworkWish& wish) {
  auto plan = plan_pods(pods, wish);
  if (!plan) return fail(plan.error());
  if (auto allowed = allow(*plan, wish); !allowed) {
    return fail(allowed.error());
  }
  JobFabric out;
  out.transport = plan->transport;
  out.summary = plan->summary;
  out.findings = plan->findings;
  take_settings(*plan, out);
  return out;
}

Result<JobFabric> check_job_variables(const std::vector<FabricPod>& pods,
                                      const NetworkWish& wish) {
  auto plan = plan_pods(pods, wish);
  if (!plan) return fail(plan.error());
  std::erase_if(plan->findings, [](const Finding& finding) {
    return !is_about_users_value(finding) ||
           finding.severity == Severity::kInfo;
  });
  if (auto allowed = allow(*plan, wish); !allowed) {
    return fail(allowed.error());
  }
  JobFabric out;
  out.findings = std::move(plan->findings);
  out.env.resize(pods.size());
  return out;
}

}  // namespace muster
