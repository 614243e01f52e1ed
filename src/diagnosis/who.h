// SPDX-License-Identifier: Apache-2.0
// The name of a rank or host in sentences. A host whose name says so (the
// operators' names do) is "Worker-2"; things of its pod, memory first, are the
// worker's, a program's acts are the rank's. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// 2 for "pi-worker-2", "pi-worker-2.pi.ns.svc", "job-node-0-2"; none else.
std::optional<int> worker_number(std::string_view host);
// "Rank 5 on gpu-node-3", "Rank 5", "Worker-2", "Host X", "The job".
std::string who(int rank, std::string_view host);
// "Worker-2", else as who().
std::string worker_of(int rank, std::string_view host);
// " (rank 5 on pi-worker-2)" where worker_of() leaves that out; else empty.
std::string who_exactly(int rank, std::string_view host);

}  // namespace muster
