// SPDX-License-Identifier: Apache-2.0
// The kernel's lists of CPUs: "0-3,8" <-> {0, 1, 2, 3, 8}. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// nullopt: not such a list, or a number above 65535. "" is the empty list.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
std::string cpu_list_text(const std::vector<int>& ascending);

}  // namespace muster
