// SPDX-License-Identifier: Apache-2.0
// kFactsRequest: the mpirun whose version counts, and the ranks' program, so
// that the pod looks for that program's libraries. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"

namespace muster::wire {

struct FactsProgram {
  std::vector<std::string> argv;  // empty: unknown
  std::string cwd;
  Environment env;  // what the launch adds to the pod's own, as far as it
                    // chooses libraries or names files
};

struct FactsRequest {
  std::string mpirun;  // "": the first on PATH
  FactsProgram first;
  std::vector<FactsProgram> more;  // the other programs of the line
  bool drivers = true;  // those of GPUs may be started, which takes some 0.3 s
};

std::string to_json(const FactsRequest& request);
// Error code "protocol".
Result<FactsRequest> facts_request_from_json(std::string_view text);

}  // namespace muster::wire
