// SPDX-License-Identifier: Apache-2.0
// EnvRequest: one variable that a command line requests for the ranks.
#pragma once

#include <optional>
#include <string>

namespace muster {

struct EnvRequest {
  std::string name;                  // "NCCL_*": every one with that prefix
  std::optional<std::string> value;  // nullopt: the launcher's own value
};

}  // namespace muster
