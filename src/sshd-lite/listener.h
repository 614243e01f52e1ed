// SPDX-License-Identifier: Apache-2.0
// Makes the server's listening socket and tunes sockets: backlog 4096 (libssh's
// own is 10), close-on-exec, no Nagle, dead peers noticed in 20 s. Reports a
// port in use or a privileged one in one clear sentence.
#pragma once

#include <string>

#include "base/fd.h"

namespace muster {

// `address` "" means every interface: one dual-stack socket, or IPv4 alone if
// the pod has no IPv6. Port 0 lets the kernel choose. Non-blocking, and tuned,
// which the connections that it accepts inherit. Error codes: "port_in_use",
// "port_privileged", "listen".
Result<UniqueFd> listen_on(const std::string& address, int port);

// 0 if it is not an internet socket.
int local_port(int socket);
// "10.0.0.7:51234", "[fd00::7]:51234"; IPv4 behind a dual-stack socket as IPv4.
std::string peer_name(int socket);

// TCP_NODELAY (three delayed ACKs per handshake otherwise: 138 ms instead of
// 7), SO_KEEPALIVE, TCP_USER_TIMEOUT of 20 s, and no congestion control that
// paces (BBR). Before it listens or connects.
void tune_tcp(int socket);

// While it holds, small writes wait to leave as one packet; its end sends them
// at once, and so does the kernel after 200 ms. Affects TCP only.
void hold_packets(int socket, bool on);

}  // namespace muster
