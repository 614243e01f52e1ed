// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/ssh_dial.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "sshd-lite/listener.h"

namespace muster {

namespace {

// 0, or the errno of the attempt.
int connect_one(const addrinfo& address, Clock::time_point deadline,
                UniqueFd& out) {
  UniqueFd fd(::socket(address.ai_family,
                       SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno;
  tune_tcp(fd.get());
  int error = 0;
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    const auto left =
        std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
    pollfd wait{fd.get(), POLLOUT, 0};
    const int n =
        ::poll(&wait, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (n <= 0) return n == 0 ? ETIMEDOUT : errno;
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) out = std::move(fd);
  return error;
}

}  // namespace

Result<UniqueFd> dial(const std::string& host, int port, Milliseconds timeout) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto deadline = Clock::now() + timeout;
  const std::string service = std::to_string(port);
  // Numbers first: for a name the resolver asks the kernel for all addresses of
  // this pod, and a cache of names, before it looks.
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  int rc = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  if (rc == EAI_NONAME) {
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
    rc = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  }
  if (rc != 0) {
    return fail(Error{"dns_unresolved", "cannot resolve the name",
                      ::gai_strerror(rc), host,
                      "check that the pod exists and its headless service "
                      "publishes it"});
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(
      found, &::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    UniqueFd fd;
    error = connect_one(*at, deadline, fd);
    if (error == 0) return fd;
  }
  return fail(Error{"tcp_failed",
                    "cannot connect to port " + std::to_string(port),
                    strerror(error), host,
                    "name another port with -p if the worker listens there"});
}

}  // namespace muster
