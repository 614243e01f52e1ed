// SPDX-License-Identifier: Apache-2.0
// DoorGuard: hangs up on processes of other users that connect to libpmix over
// loopback. libpmix reads a greeting before it looks at the next connection,
// and some releases wait for the rest of one for ever, so that half a greeting
// from a sidecar, or from another pod on the host's network, would hold up all
// ranks. Lets root in, which needs no port to do harm. Reads /proc/self/net/tcp
// only when a connection is new. Loop thread; the connections themselves are
// libpmix'.
#pragma once

#include <sys/types.h>

#include <set>
#include <string_view>

namespace muster {

// Ports of 127.0.0.1 from which a process of another user than `own` and root
// is connected to `port` of 127.0.0.1. `table`: as /proc/net/tcp. Pure.
std::set<int> strangers_at(std::string_view table, int port, uid_t own);

class DoorGuard {
 public:
  // Connections of this process at this port of loopback; the number of
  // strangers that it hung up on.
  int look(int port);

 private:
  std::set<int> known_;  // connected ports without strangers
};

}  // namespace muster
