// SPDX-License-Identifier: Apache-2.0
// What `kubectl describe pod` shows of how a container ended.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// At most 4096 bytes of `text`, the kubelet's limit, over what is there. Only
// where the kubelet has put the file: elsewhere it would be litter. Errors are
// ignored, and nothing is waited for. Any thread.
void write_termination_message(const std::string& path, std::string_view text);

}  // namespace muster
