// SPDX-License-Identifier: Apache-2.0
// NCCL's environment variables as data: their versions and values. Source: NCCL
// guide (env.rst), and the reads of each tag from 2.3.5 to 2.30.7. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/facts/nccl_version.h"

namespace muster {

// As `high`: as many as the version has channels.
inline constexpr int64_t kChannels = INT64_MAX - 1;

struct NcclVariable {
  const char* name;
  NcclVersion since;
  int64_t low = 0;
  int64_t high = -1;       // high < low: any text
  bool debugging = false;  // the guide: not for production
  NcclVersion gone{};      // the first version that does not read it
  const char* instead = nullptr;
};

// The most channels of a version, which cuts larger numbers down to it. Source:
// MAXCHANNELS of NCCL at each tag and of ROCm/rccl.
int64_t max_channels(const NcclVersion& version, bool rccl);
// `rccl`: as AMD's library reads it.
// "NCCL_DEBUG" for CCL_DEBUG, NCLL_DEBUG, nccl_DEBUG: nearly the prefix, and a
// variable's name behind it; "" for all others.
std::string nccl_name_meant(std::string_view name);
const NcclVariable* find_nccl_variable(std::string_view name,
                                       bool rccl = false);
std::vector<std::string> nccl_variable_names();
// Of NCCL_EXCLUDE_IB_HCA and the like: the variable without the word that says
// how, NCCL_IB_HCA; "" of other names.
std::string nccl_list_meant(std::string_view name);
// Begins with NCCL_ and belongs to another reader: images (NCCL_VERSION),
// PyTorch, network plugins, tests.
bool is_others_variable(std::string_view name);

}  // namespace muster
