// SPDX-License-Identifier: Apache-2.0
// The connection child: one SSH session from key exchange to its end, in a
// process forked for it without exec, and sandboxed before it reads the peer's
// first byte. Public key only, one session channel, one command. The version
// line was sent before this process was made (door.h). Refuses: none, password,
// keyboard-interactive; pty, shell, subsystem, X11, agent, all forwarding; a
// second channel; to serve at all if the kernel refuses the system call filter.
// Asks pid 1, over `link`, to start the command; it cannot start anything
// itself. libssh checks the signature in here (see the security model).
#pragma once

#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "sshd-lite/keys.h"

namespace muster {

struct ConnectionOptions {
  const JobKeys* keys = nullptr;
  std::string peer;   // "10.0.0.7:51234", for the log
  std::string nonce;  // in the version line sent to the peer
  Milliseconds auth_timeout{10000};
  int max_attempts = 3;
  bool fips = false;
  bool proven = false;  // in the queue: pid 1 need not hear how far it is
  bool sandbox = true;  // false only for a fuzzer, which must go on
};

// Serves until the session ends; the caller then leaves with _exit(). Blocks
// (in poll, always with a deadline), so only for a process of its own.
void serve_connection(UniqueFd socket, UniqueFd link,
                      const ConnectionOptions& options);

}  // namespace muster
