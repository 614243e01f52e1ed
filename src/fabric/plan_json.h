// SPDX-License-Identifier: Apache-2.0
// The plan for programs (-o json) and for people. Pure.
#pragma once

#include <string>

#include "fabric/policy/policy.h"

namespace muster {

// {"pods":[{"name","env":{},"reasons":[…]}],"findings":[…],"verdict":"…"} and
// more; docs/fabric.md has the whole.
std::string plan_to_json(const FabricPlan& plan);
// The settings with their reasons, findings, verdict.
std::string plan_to_text(const FabricPlan& plan);
// Every decision with its rejected alternatives.
std::string explain_plan(const FabricPlan& plan);

}  // namespace muster
