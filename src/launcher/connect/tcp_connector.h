// SPDX-License-Identifier: Apache-2.0
// TcpConnector: one TCP connection to whichever of several addresses answers
// first. Addresses are raced with a head start of 250 ms each (as RFC 8305
// does), because a dual-stack pod may have an AAAA record that leads nowhere.
// Error codes: "tcp_refused", "tcp_filtered" (no answer), "tcp_unreachable".
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "launcher/connect/address.h"

namespace muster {

class TcpConnector {
 public:
  using Done = std::function<void(Result<UniqueFd>)>;

  // `done` is called once, on the loop; never after destruction. The socket is
  // non-blocking, close-on-exec, with TCP_NODELAY.
  TcpConnector(Loop& loop, std::vector<Address> addresses, int port,
               Milliseconds timeout, Done done);
  ~TcpConnector();

 private:
  struct Attempt;

  void start_next();
  void finish_attempt(Attempt* attempt);
  void fail_attempt(const Attempt* attempt, int error);
  void conclude(Result<UniqueFd> result);

  Loop& loop_;
  std::vector<Address> addresses_;
  int port_;
  Done done_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  Error last_error_;
  Timer head_start_;
  Timer deadline_;
};

}  // namespace muster
