// SPDX-License-Identifier: Apache-2.0
// A process of the job: its agent and its id there. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

namespace muster {

struct ProcessKey {
  uint16_t node = 0;
  uint32_t id = 0;
  auto operator<=>(const ProcessKey&) const = default;
};

// One of its output streams: wire::kStdout or wire::kStderr.
using StreamKey = std::pair<ProcessKey, uint8_t>;

}  // namespace muster
