// SPDX-License-Identifier: Apache-2.0
// How people call a rank or host. A host whose name says so (the operators'
// names do) is "Worker-2"; what its pod owns, memory first, is the worker's,
// what a program did is the rank's. Pure.
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
