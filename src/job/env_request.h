// SPDX-License-Identifier: Apache-2.0
// EnvRequest: one variable that a command line asks to give to the ranks.
#pragma once

#include <optional>
#include <string>

namespace muster {

struct EnvRequest {
  std::string name;                  // "NCCL_*": every one with that prefix
  std::optional<std::string> value;  // nullopt: as the launcher has it
};

}  // namespace muster
