// SPDX-License-Identifier: Apache-2.0
// TCP on 127.0.0.1, between the agent and its own ranks. IPv4, as the clients
// of PMI-1 and PMIx know no other. All sockets are non-blocking and
// close-on-exec. Loop thread.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace muster {

struct LoopbackListener {
  UniqueFd socket;
  int port = 0;
};

// A free port. Error code "resources".
Result<LoopbackListener> listen_on_loopback();
// Empty if nobody listens there; may still be in progress.
UniqueFd connect_to_loopback(int port);
// Small messages do not wait for one another (TCP_NODELAY).
void send_at_once(int socket);

}  // namespace muster
