// SPDX-License-Identifier: Apache-2.0
// The host that a program writes into its own line: "[node-3:4711]" of Open
// MPI, "[node-3:4711:0:4711]" of UCX, "node-3:4711:4790 [0]" of NCCL. In a pod
// this is the pod's name. Refuses: nothing; empty if there is none. Pure.
#pragma once

#include <string_view>

namespace muster {

// Points into `line`.
std::string_view host_in_line(std::string_view line);

}  // namespace muster
