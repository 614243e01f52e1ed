// SPDX-License-Identifier: Apache-2.0
// The Port line of an ssh_config or sshd_config text. Takes only a line for
// every host: skips lines under Host (other than *) or Match. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace muster {

// The first valid Port, as OpenSSH takes it (ssh_config(5)); nullopt if none.
std::optional<int> port_of_ssh_config(std::string_view text);

}  // namespace muster
