// SPDX-License-Identifier: Apache-2.0
// AcceptWatch: takes the connections of a listening socket, which stays the
// caller's. If it cannot accept any (no descriptor is left), the socket stays
// readable: the watch then pauses for a moment instead of spinning. Loop
// thread; the callback must not destroy it.
#pragma once

#include <functional>

#include "base/fd.h"
#include "base/loop.h"

namespace muster {

class AcceptWatch {
 public:
  AcceptWatch(Loop& loop, int listener, std::function<void(UniqueFd)> accepted);

 private:
  void accept_one();

  int listener_;
  std::function<void(UniqueFd)> accepted_;
  FdWatch watch_;
  Timer again_;
};

}  // namespace muster
