// SPDX-License-Identifier: Apache-2.0
// The plan of a text of facts, and what is in it, for tests of rules.
#pragma once

#include <algorithm>
#include <string>

#include "catch.h"
#include "fabric/facts/facts_json.h"
#include "fabric/policy/policy.h"

namespace muster {

inline FabricPlan plan(const std::string& text, const char* profile = "") {
  const auto facts = read_facts(text, "test");
  if (!facts) FAIL(facts.error().text());
  CHECK(facts->notes.empty());
  FabricRequest request;
  request.profile_word = profile;
  request.profile = parse_profile(profile).value();
  return plan_fabric(facts->pods, request);
}

inline bool found(const FabricPlan& plan, const std::string& code) {
  return std::any_of(plan.findings.begin(), plan.findings.end(),
                     [&](auto& finding) { return finding.code == code; });
}

inline std::string value(const FabricPlan& plan, size_t pod, const char* name) {
  const auto env = plan.pods[pod].env();
  const auto at = env.find(name);
  return at == env.end() ? "" : at->second;
}

}  // namespace muster
