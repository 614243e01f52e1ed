// SPDX-License-Identifier: Apache-2.0
// The termination message that `kubectl describe pod` shows.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// Writes at most 4096 bytes of `text`, the kubelet's limit, over the old
// content. Only if the kubelet has made the file: elsewhere it would be litter.
// Ignores errors, and never waits. Any thread.
void write_termination_message(const std::string& path, std::string_view text);

}  // namespace muster
