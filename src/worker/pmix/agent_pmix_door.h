// SPDX-License-Identifier: Apache-2.0
// PmixDoor: the address of the PMIx server in ranks' environment. libpmix takes
// 10 ms to load and start, which a program without MPI should not cost. So
// libpmix starts when the first rank connects, and then gets the listening
// socket in place of its own, so that ranks talk to libpmix without a hop. If a
// connection still waits at two looks in a row (a release that does not wait
// with select()), the door accepts every connection and relays its bytes. On
// loopback. A silent connection stays in the kernel, and DoorGuard hangs up on
// one of another user; libpmix authenticates the others. Owns the connections.
// Loop thread.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "base/accept_watch.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/pmix/door_guard.h"
#include "worker/rank/socket_relay.h"

namespace muster {

class PmixDoor {
 public:
  // Returns libpmix' port and starts it if needed; 0: it is not available, and
  // the door hangs up.
  using Start = std::function<int()>;

  static Result<std::unique_ptr<PmixDoor>> open(Loop& loop, Start start);
  [[nodiscard]] int port() const { return port_; }

 private:
  PmixDoor(Loop& loop, Start start)
      : loop_(loop),
        start_(std::move(start)),
        next_look_(loop),
        next_guard_(loop) {}
  void knocked();
  void give_to(int port);
  void look_later();
  void look();
  void pass_on(UniqueFd guest);
  void keep_guard();

  Loop& loop_;
  Start start_;
  int port_ = 0;
  UniqueFd listener_;
  std::unique_ptr<FdWatch> knock_;
  Timer next_look_;
  int looks_ = 0;    // in a row at which a connection waited
  int inside_ = -1;  // the descriptor by which libpmix listens
  UniqueFd kept_;    // its former file; empty: restored, or unchanged
  std::unique_ptr<AcceptWatch> watch_;  // the hand-over did not help
  std::list<std::unique_ptr<SocketRelay>> relays_;
  DoorGuard guard_;
  Timer next_guard_;  // from the first connection on
};

}  // namespace muster
