// SPDX-License-Identifier: Apache-2.0
// The output of --dry-run and --explain-env: every decision of a launch with
// its reason, for people or as JSON. The caller hides the secrets that remain
// in it (words of a line, values by their shape).
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/agreement.h"
#include "launcher/start/native_backend.h"

namespace muster {

std::string plan_text(const Agreement& agreement, const Discovery& discovery,
                      const std::vector<NodeFacts>& facts);
std::string plan_json(const Agreement& agreement, const Discovery& discovery,
                      const std::vector<NodeFacts>& facts);
// Only variables that do not simply stay as the worker has them. Values of
// secret-looking names are masked. `hosts` and the nodes of `ranks` are the
// fleet's; no ranks: mpirun starts them.
std::string environment_text(const Agreement& agreement,
                             const std::vector<std::string>& hosts,
                             const std::vector<NativeRank>& ranks);

}  // namespace muster
