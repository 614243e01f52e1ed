// SPDX-License-Identifier: Apache-2.0
// NCCL's environment variables as data: since which version, which values.
// Source: NCCL guide (env.rst) and NCCL_PARAM definitions. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/nccl_version.h"

namespace muster {

struct NcclVariable {
  const char* name;
  NcclVersion since;
  int64_t low = 0;
  int64_t high = -1;       // high < low: any text
  bool debugging = false;  // the guide: not for production
};

const NcclVariable* find_nccl_variable(std::string_view name);
std::vector<std::string> nccl_variable_names();

}  // namespace muster
