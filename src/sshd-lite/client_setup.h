// SPDX-License-Identifier: Apache-2.0
// The two steps of a client before its protocol: the options of a libssh
// session that touches nothing but the given socket, and a look at the first
// bytes of the other side, which libssh would not distinguish.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

struct ssh_session_struct;

namespace muster {

// Resolves no name, reads no file, offers only strong algorithms. `fd` is
// connected and stays the caller's: libssh never closes it. Agrees on new keys
// after `rekey_bytes` (0: libssh's default).
void set_client_options(ssh_session_struct* session, int fd,
                        const std::string& user, uint64_t rekey_bytes);

// Looks without taking: the server's version line once it is there.
struct SeenBanner {
  std::optional<std::string> line;
  bool begun = false;  // some of the line is there
};
// Errors: ssh_foreign, ssh_closed.
Result<SeenBanner> peek_banner(int fd);

}  // namespace muster
