// SPDX-License-Identifier: Apache-2.0
// The two things of a client that stand before its first protocol step: the
// options of a libssh session that touches nothing but the given socket, and a
// look at the first bytes of the other side, which libssh would not tell apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

struct ssh_session_struct;

namespace muster {

// No name is resolved, no file read, nothing but strong algorithms offered.
// `fd` is connected and stays the caller's: libssh never closes it. New keys
// are agreed after `rekey_bytes` (0: when libssh thinks so).
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
