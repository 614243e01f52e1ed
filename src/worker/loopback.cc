// SPDX-License-Identifier: Apache-2.0
#include "worker/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace muster {

namespace {

UniqueFd tcp_socket() {
  return UniqueFd(
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

sockaddr_in loopback(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(static_cast<uint16_t>(port));
  return out;
}

}  // namespace

Result<LoopbackListener> listen_on_loopback() {
  LoopbackListener out;
  out.socket = tcp_socket();
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!out.socket || ::bind(out.socket.get(), generic, size) != 0 ||
      ::listen(out.socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(out.socket.get(), generic, &size) != 0) {
    return fail_errno("resources", "cannot listen on 127.0.0.1 for ranks");
  }
  out.port = ntohs(address.sin_port);
  return out;
}

UniqueFd connect_to_loopback(int port) {
  UniqueFd out = tcp_socket();
  const sockaddr_in address = loopback(port);
  if (out &&
      ::connect(out.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0 &&
      errno != EINPROGRESS) {
    out.reset();
  }
  if (out) send_at_once(out.get());
  return out;
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace muster
