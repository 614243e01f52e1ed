// SPDX-License-Identifier: Apache-2.0
// Exchanges SSH version lines for a connection whose line was sent before
// libssh knew of it (door.h). libssh always sends its own, so at first a socket
// pair takes the place of the connection; libssh keeps only the number of the
// descriptor. Used by the connection child only.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/loop.h"

struct ssh_session_struct;

namespace muster {

class Greeting {
 public:
  // `socket` is the descriptor that `session` owns.
  Greeting(ssh_session_struct* session, int socket)
      : session_(session), socket_(socket) {}

  // Swallows libssh's line, which must be `sent`. Before the sandbox. False on
  // failure.
  bool begin(const std::string& sent);
  // Passes the peer's line and the connection to libssh. False: no such line
  // came within `limit`.
  bool finish(Milliseconds limit);

 private:
  bool read_line(Milliseconds limit, std::string& line) const;
  std::string from_libssh();

  ssh_session_struct* session_;
  int socket_;
  UniqueFd real_;   // the connection, while the decoy has its number
  UniqueFd decoy_;  // our end
};

}  // namespace muster
