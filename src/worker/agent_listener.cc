// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"

namespace muster {

namespace {

// Both families through one socket where the pod has IPv6, else IPv4 alone.
UniqueFd bind_any(int family, int port) {
  UniqueFd socket(
      ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  int rc;
  if (family == AF_INET6) {
    const int off = 0;
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<uint16_t>(port));
    rc = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof any);
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<uint16_t>(port));
    rc = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof any);
  }
  if (rc != 0 || ::listen(socket.get(), SOMAXCONN) != 0) socket.reset();
  return socket;
}

struct Ports {
  int first = 0;
  int last = 0;
};

Result<Ports> parse_ports(const std::string& range) {
  if (range.empty()) return Ports{};
  const auto parts = split(range, '-');
  const auto first = parse_integer(parts[0]);
  const auto last = parts.size() == 2 ? parse_integer(parts[1]) : std::nullopt;
  if (!first || !last || *first < 1 || *last > 65535 || *first > *last) {
    return fail(Error{"usage",
                      "MUSTER_PORT_RANGE is no range of ports",
                      range,
                      {},
                      "write it as 40000-40999"});
  }
  return Ports{static_cast<int>(*first), static_cast<int>(*last)};
}

}  // namespace

Result<int> ProbeListener::open(const std::string& range) {
  close();
  const auto ports = parse_ports(range);
  if (!ports) return fail(ports.error());
  for (int port = ports->last; port >= ports->first && !socket_; --port) {
    socket_ = bind_any(AF_INET6, port);
    if (!socket_) socket_ = bind_any(AF_INET, port);
  }
  if (!socket_) return fail_errno("resources", "cannot open a listening port");
  sockaddr_in6 address{};  // the larger of the two; the port is at one place
  socklen_t size = sizeof address;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                    &size) != 0) {
    return fail_errno("resources", "getsockname");
  }
  watch_ = std::make_unique<FdWatch>(loop_, socket_.get());
  watch_->on_readable([fd = socket_.get()] {
    UniqueFd(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
  });
  return ntohs(address.sin6_port);
}

void ProbeListener::close() {
  watch_.reset();
  socket_.reset();
}

}  // namespace muster
