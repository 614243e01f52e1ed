// SPDX-License-Identifier: Apache-2.0
// SocketRelay: passes bytes between two stream sockets, both ways, as fast as
// the slower end takes them (it holds at most 64 KiB each way). The end of
// either ends both, once its last bytes are delivered. Owns both sockets. Loop
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/loop.h"

namespace muster {

class SocketRelay {
 public:
  // Makes both sockets non-blocking. `done` is called once, later on the loop,
  // and may destroy this object.
  SocketRelay(Loop& loop, UniqueFd left, UniqueFd right,
              std::function<void()> done);

 private:
  struct Side {
    UniqueFd socket;
    std::unique_ptr<FdWatch> watch;
    std::string unsent;  // to the other side
    bool ended = false;
  };

  void read_from(Side& from, Side& to);
  void write_to(Side& to, Side& from);
  void finish();

  Side left_;
  Side right_;
  std::function<void()> done_;
};

}  // namespace muster
