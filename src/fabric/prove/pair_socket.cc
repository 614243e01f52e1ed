// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/pair_socket.h"

#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace muster {

namespace {

// true: ready; false: the deadline passed.
bool wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd wait{fd, events, 0};
    const int ready = ::poll(&wait, 1, left_ms(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    return false;
  }
}

tl::unexpected<Error> late(const std::string& what) {
  return fail({.code = "deadline",
               .what = what,
               .why = "no answer in time",
               .where = {},
               .hint = {}});
}

void set_up(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  set_nonblocking(fd);
}

}  // namespace

Deadline deadline_in(int milliseconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::milliseconds(milliseconds);
}

int left_ms(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 600'000));
}

Result<UniqueFd> connect_tcp(const std::string& host, const std::string& port,
                             Deadline deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int wrong = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  const std::string place = host + ":" + port;
  if (wrong != 0) {
    return fail({.code = "connect",
                 .what = "cannot find " + host,
                 .why = ::gai_strerror(wrong),
                 .where = place,
                 .hint = "check the name in the pod's DNS"});
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list,
                                                             ::freeaddrinfo);
  UniqueFd fd(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("connect", "cannot make a socket", place);
  set_up(fd.get());
  if (::connect(fd.get(), list->ai_addr, list->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return fail_errno("connect", "connect", place);
    if (!wait_for(fd.get(), POLLOUT, deadline)) {
      return fail({.code = "connect",
                   .what = "cannot connect",
                   .why = "no answer: a network policy or firewall drops it",
                   .where = place,
                   .hint = "allow the pods of the job to reach each other"});
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail_errno(error, "connect", "connect", place);
  }
  return fd;
}

Result<UniqueFd> accept_tcp(int listener, Deadline deadline) {
  if (!wait_for(listener, POLLIN, deadline)) return late("no peer came");
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) return fail_errno("peer_lost", "accept");
  set_up(fd.get());
  return fd;
}

Result<size_t> send_some(int fd, const char* data, size_t size,
                         Deadline deadline) {
  for (;;) {
    const ssize_t n = ::send(fd, data, size, MSG_NOSIGNAL);
    if (n > 0) return static_cast<size_t>(n);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return fail_errno("peer_lost", "sending");
    if (!wait_for(fd, POLLOUT, deadline)) return late("sending");
  }
}

Result<size_t> receive_some(int fd, char* data, size_t size,
                            Deadline deadline) {
  for (;;) {
    const ssize_t n = ::recv(fd, data, size, 0);
    if (n > 0) return static_cast<size_t>(n);
    if (n == 0) {
      return fail({.code = "peer_lost",
                   .what = "receiving",
                   .why = "the peer closed the connection",
                   .where = {},
                   .hint = {}});
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail_errno("peer_lost", "receiving");
    if (!wait_for(fd, POLLIN, deadline)) return late("receiving");
  }
}

bool unacknowledged(int fd) {
  int bytes = 0;
  return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

Status send_exactly(int fd, const char* data, size_t size, Deadline deadline) {
  while (size > 0) {
    const auto part = send_some(fd, data, size, deadline);
    if (!part) return fail(part.error());
    data += *part;
    size -= *part;
    if (left_ms(deadline) == 0 && size > 0) return late("sending");
  }
  return {};
}

Status receive_exactly(int fd, char* data, size_t size, Deadline deadline) {
  while (size > 0) {
    const auto part = receive_some(fd, data, size, deadline);
    if (!part) return fail(part.error());
    data += *part;
    size -= *part;
    if (left_ms(deadline) == 0 && size > 0) return late("receiving");
  }
  return {};
}

std::string peer_host(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = {};
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(fd, raw, &size) != 0 ||
      ::getnameinfo(raw, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) !=
          0) {
    return "";
  }
  return host;
}

}  // namespace muster
