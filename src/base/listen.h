// SPDX-License-Identifier: Apache-2.0
// Listening sockets beyond this pod's loopback: a port for all peers, a path
// for this user. All are non-blocking and close-on-exec.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

// On all addresses, of both families if the pod has IPv6. Port 0: any free one.
// Empty, with errno, on failure.
UniqueFd listen_on_any(int port);
// Of a TCP socket; 0: none.
int port_of(int socket);

// A Unix socket of `type`, for this user only; replaces a file at `path`. Error
// codes "no_writable_dir" (the path is too long), "resources".
Result<UniqueFd> listen_on_path(const std::string& path, int type);
// The process at the other end of such a socket; nullopt: another user's.
std::optional<pid_t> own_peer(int socket);

}  // namespace muster
