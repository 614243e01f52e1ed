// SPDX-License-Identifier: Apache-2.0
// Signal names of the SSH protocol (RFC 4254, 6.10): no "SIG" in front, and
// "NAME@muster" for those that the RFC does not list. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

std::string ssh_signal_name(int signal);
// 0 for a name unknown here.
int ssh_signal_number(std::string_view name);

}  // namespace muster
