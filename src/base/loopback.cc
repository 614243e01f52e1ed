// SPDX-License-Identifier: Apache-2.0
#include "base/loopback.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace muster {

namespace {

UniqueFd tcp_socket(int family) {
  return UniqueFd(
      ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

sockaddr_in loopback4(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(static_cast<uint16_t>(port));
  return out;
}

sockaddr_in6 loopback6(int port) {
  sockaddr_in6 out{};
  out.sin6_family = AF_INET6;
  out.sin6_addr = in6addr_loopback;
  out.sin6_port = htons(static_cast<uint16_t>(port));
  return out;
}

// The error of a connection under way, 0 once it is established.
int settle(int socket, std::chrono::milliseconds limit) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + limit;
  pollfd waiting{socket, POLLOUT, 0};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - steady_clock::now());
    const int64_t wait = std::max<int64_t>(left.count(), 0);
    const int ready = ::poll(&waiting, 1, static_cast<int>(wait));
    if (ready == 1) break;
    if (ready == 0) return ETIMEDOUT;
    if (errno != EINTR) return errno;
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

template <class Address>
tl::expected<UniqueFd, int> dial(int family, const Address& address,
                                 std::chrono::milliseconds limit) {
  UniqueFd out = tcp_socket(family);
  if (!out) return tl::unexpected(errno);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(out.get(), generic, sizeof address) == 0) return out;
  const int error = errno == EINPROGRESS ? settle(out.get(), limit) : errno;
  if (error != 0) return tl::unexpected(error);
  return out;
}

}  // namespace

Result<LoopbackListener> listen_on_loopback() {
  LoopbackListener out;
  out.socket = tcp_socket(AF_INET);
  sockaddr_in address = loopback4(0);
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
  UniqueFd out = tcp_socket(AF_INET);
  const sockaddr_in address = loopback4(port);
  if (out &&
      ::connect(out.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0 &&
      errno != EINPROGRESS) {
    out.reset();
  }
  if (out) send_at_once(out.get());
  return out;
}

tl::expected<UniqueFd, int> dial_loopback(int port,
                                          std::chrono::milliseconds limit) {
  auto out = dial(AF_INET, loopback4(port), limit);
  if (out || out.error() == ETIMEDOUT) return out;
  auto second = dial(AF_INET6, loopback6(port), limit);
  return second ? std::move(second) : std::move(out);
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace muster
