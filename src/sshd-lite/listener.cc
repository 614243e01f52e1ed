// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace muster {

namespace {

constexpr int kBacklog = 4096;  // the kernel takes at most somaxconn
constexpr unsigned kUserTimeoutMs = 20000;

struct Endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_UNSPEC;
};

Endpoint any_v6(int port) {
  Endpoint out;
  auto* address = reinterpret_cast<sockaddr_in6*>(&out.storage);
  address->sin6_family = AF_INET6;
  address->sin6_port = htons(static_cast<uint16_t>(port));
  address->sin6_addr = in6addr_any;
  out.size = sizeof *address;
  out.family = AF_INET6;
  return out;
}

Endpoint any_v4(int port) {
  Endpoint out;
  auto* address = reinterpret_cast<sockaddr_in*>(&out.storage);
  address->sin_family = AF_INET;
  address->sin_port = htons(static_cast<uint16_t>(port));
  out.size = sizeof *address;
  out.family = AF_INET;
  return out;
}

// Numeric addresses only: a name would need a resolver in pid 1.
bool fill_address(const std::string& text, int port, Endpoint& out) {
  out = any_v4(port);
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) return true;
  out = any_v6(port);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  return ::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1;
}

tl::unexpected<Error> listen_error(int error, const std::string& address,
                                   int port) {
  const std::string where =
      (address.empty() ? "" : address + " ") + "port " + std::to_string(port);
  if (error == EADDRINUSE) {
    return fail(Error{"port_in_use", "cannot listen", strerror(error), where,
                      "another sshd or worker has it; with hostNetwork two "
                      "workers on one node clash: give each job its own "
                      "--port, or leave hostNetwork out"});
  }
  if (error == EACCES && port < 1024) {
    return fail(Error{"port_privileged", "cannot listen", strerror(error),
                      where,
                      "ports below 1024 need CAP_NET_BIND_SERVICE: use 2222 "
                      "(--port 2222), the launcher tries it first"});
  }
  return fail(Error{"listen", "cannot listen", strerror(error), where, {}});
}

// BBR sends no faster than its estimate of the path, the best of the last ten
// round trips. Messages that come seldom, to a pod whose CPUs are busy, teach
// it a few Mbit/s, and 32 KB of a fence then wait for 20 to 80 ms. Reno may
// always be chosen, CUBIC where the node allows it (tcp(7)). A connection that
// began with BBR stays paced whatever a later call sets, with a timer for each
// packet that waits (sk_pacing_status in net/ipv4/tcp_bbr.c): hence before.
void do_without_pacing(int socket) {
  char name[16] = {};
  socklen_t size = sizeof name;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size) != 0 ||
      strncmp(name, "bbr", 3) != 0) {
    return;
  }
  if (::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) != 0) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  }
}

Result<UniqueFd> try_listen(const Endpoint& endpoint,
                            const std::string& address, int port) {
  UniqueFd fd(
      ::socket(endpoint.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return listen_error(errno, address, port);
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (endpoint.family == AF_INET6) {
    const int* const only_v6 = address.empty() ? &off : &on;
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, only_v6, sizeof on);
  }
  tune_tcp(fd.get());
  const auto* raw = reinterpret_cast<const sockaddr*>(&endpoint.storage);
  if (::bind(fd.get(), raw, endpoint.size) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return listen_error(errno, address, port);
  }
  return fd;
}

uint16_t port_of(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  }
  return 0;
}

}  // namespace

void tune_tcp(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int idle = 10;
  const int interval = 5;
  const int count = 3;
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs,
               sizeof kUserTimeoutMs);
  do_without_pacing(socket);
}

Result<UniqueFd> listen_on(const std::string& address, int port) {
  if (!address.empty()) {
    Endpoint endpoint;
    if (!fill_address(address, port, endpoint)) {
      return fail(Error{"listen",
                        "cannot listen",
                        "\"" + address + "\" is not an IP address",
                        {},
                        "write it as numbers, or leave it out"});
    }
    return try_listen(endpoint, address, port);
  }
  auto dual = try_listen(any_v6(port), address, port);
  if (dual || dual.error().code != "listen") return dual;
  return try_listen(any_v4(port), address, port);
}

int local_port(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) !=
      0) {
    return 0;
  }
  return port_of(storage);
}

std::string peer_name(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size) !=
      0) {
    return "unknown peer";
  }
  char text[INET6_ADDRSTRLEN] = "";
  const std::string port = ":" + std::to_string(port_of(storage));
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    return text + port;
  }
  if (storage.ss_family != AF_INET6) return "local peer";
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
  if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    ::inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, text, sizeof text);
    return text + port;
  }
  ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]" + port;
}

void hold_packets(int socket, bool on) {
  const int value = on ? 1 : 0;
  ::setsockopt(socket, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

}  // namespace muster
