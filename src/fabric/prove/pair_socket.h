// SPDX-License-Identifier: Apache-2.0
// Blocking TCP with deadlines, for processes of their own: the pair test, and
// the one that asks NCCL (worker/hang/agent_ras.h).
#pragma once

#include <chrono>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

using Deadline = std::chrono::steady_clock::time_point;

Deadline deadline_in(int milliseconds);
// Milliseconds left, at least 0.
int left_ms(Deadline deadline);

Result<UniqueFd> connect_tcp(const std::string& host, const std::string& port,
                             Deadline deadline);
Result<UniqueFd> accept_tcp(int listener, Deadline deadline);
// At least one byte; error code "peer_lost" or "deadline".
Result<size_t> send_some(int fd, const char* data, size_t size,
                         Deadline deadline);
Result<size_t> receive_some(int fd, char* data, size_t size, Deadline deadline);
// Sent bytes that the peer has not acknowledged.
bool unacknowledged(int fd);
// Whole transfers; error code "peer_lost" or "deadline".
Status send_exactly(int fd, const char* data, size_t size, Deadline deadline);
Status receive_exactly(int fd, char* data, size_t size, Deadline deadline);
// "10.0.0.1" of the other end; "" if unknown.
std::string peer_host(int fd);

}  // namespace muster
