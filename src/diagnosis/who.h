// SPDX-License-Identifier: Apache-2.0
// How people call a rank or host: "Worker-2" if the host's name says so (the
// operators' names do), else by rank and host. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// 2 for "pi-worker-2", "pi-worker-2.pi.ns.svc", "job-node-0-2"; none else.
std::optional<int> worker_number(std::string_view host);
// "Worker-2", "Rank 5 on gpu-node-3", "Rank 5", "Host X", "The job".
std::string who(int rank, std::string_view host);
// " (rank 5 on pi-worker-2)" where who() leaves that out; else empty.
std::string who_exactly(int rank, std::string_view host);

}  // namespace muster
