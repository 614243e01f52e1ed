// SPDX-License-Identifier: Apache-2.0
// PmixDoor: the address that ranks are given for their PMIx server. libpmix
// takes 10 ms to load and start, which a program without MPI should not cost:
// it starts when the first rank knocks, and is then given the door itself: the
// listening socket takes the place of its own, so that ranks talk to libpmix
// without a hop. Where somebody waits there at two looks in a row (a release
// that waits for its socket in another way than select()), the door takes
// every connection and passes bytes on. On loopback. A silent connection
// stays in the kernel, and one of another user is hung up on (DoorGuard);
// libpmix authenticates the others.
// Owns the connections. Loop thread.
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
  // Gives libpmix' port, having started it if need be; 0: it cannot be had,
  // and the door hangs up.
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
  int looks_ = 0;    // in a row at which somebody waited
  int inside_ = -1;  // the descriptor by which libpmix listens
  UniqueFd kept_;    // what that was before; empty: it is so again, or still
  std::unique_ptr<AcceptWatch> watch_;  // once it was of no use to give it
  std::list<std::unique_ptr<SocketRelay>> relays_;
  DoorGuard guard_;
  Timer next_guard_;  // from the first knock on
};

}  // namespace muster
