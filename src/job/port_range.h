// SPDX-License-Identifier: Apache-2.0
// TCP ports from one to another, as users write them. Pure.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

struct PortRange {
  int first = 0;  // 1..65535
  int last = 0;   // >= first
};

// "40000-40999". Error code "usage".
Result<PortRange> parse_port_range(const std::string& text);

}  // namespace muster
