// SPDX-License-Identifier: Apache-2.0
// TCP within this pod: the agent and its own ranks, a probe and its worker, a
// pod and the mesh's proxy beside it. All sockets are non-blocking and
// close-on-exec.
#pragma once

#include <chrono>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

struct LoopbackListener {
  UniqueFd socket;
  int port = 0;
};

// A free port of 127.0.0.1: the clients of PMI-1 and PMIx know no IPv6. Error
// code "resources".
Result<LoopbackListener> listen_on_loopback();
// Empty if no process listens there; may still be in progress.
UniqueFd connect_to_loopback(int port);
// Waits until the connection is established: on 127.0.0.1, else on ::1. errno,
// or ETIMEDOUT after `limit`.
tl::expected<UniqueFd, int> dial_loopback(int port,
                                          std::chrono::milliseconds limit);
// Small messages do not wait for one another (TCP_NODELAY).
void send_at_once(int socket);

}  // namespace muster
