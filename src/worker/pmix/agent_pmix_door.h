// SPDX-License-Identifier: Apache-2.0
// PmixDoor: the address that ranks are given for their PMIx server. libpmix
// takes 10 ms to load and start, which a program without MPI should not cost:
// it starts when the first rank knocks, and from then on the door passes bytes
// to its port. On loopback; libpmix authenticates who comes.
// Owns the connections. Loop thread.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "base/accept_watch.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "worker/rank/socket_relay.h"

namespace muster {

class PmixDoor {
 public:
  // Gives libpmix' port, having started it if need be; 0: it cannot be had,
  // and whoever knocked is hung up on.
  using Start = std::function<int()>;

  static Result<std::unique_ptr<PmixDoor>> open(Loop& loop, Start start);
  [[nodiscard]] int port() const { return port_; }

 private:
  PmixDoor(Loop& loop, Start start) : loop_(loop), start_(std::move(start)) {}
  void pass_on(UniqueFd guest);

  Loop& loop_;
  Start start_;
  int port_ = 0;
  UniqueFd listener_;
  std::unique_ptr<AcceptWatch> watch_;
  std::list<std::unique_ptr<SocketRelay>> relays_;
};

}  // namespace muster
