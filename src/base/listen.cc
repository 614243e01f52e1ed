// SPDX-License-Identifier: Apache-2.0
#include "base/listen.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace muster {

namespace {

UniqueFd open_socket(int family, int type) {
  return UniqueFd(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

template <class Address>
bool listens_at(int socket, const Address& address) {
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address),
                sizeof address) == 0 &&
         ::listen(socket, SOMAXCONN) == 0;
}

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

}  // namespace

UniqueFd listen_on_any(int port) {
  const in_port_t number = htons(static_cast<uint16_t>(port));
  UniqueFd out = open_socket(AF_INET6, SOCK_STREAM);
  if (out) {
    set_option(out.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    set_option(out.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = number;
    if (listens_at(out.get(), any)) return out;
    const int saved = errno;
    out.reset();
    errno = saved;
    if (saved != EADDRNOTAVAIL) return out;
  }
  out = open_socket(AF_INET, SOCK_STREAM);
  if (!out) return out;
  set_option(out.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = number;
  if (listens_at(out.get(), any)) return out;
  const int saved = errno;
  out.reset();
  errno = saved;
  return out;
}

int port_of(int socket) {
  sockaddr_in6 address{};  // the larger of the two; the port is at one place
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) !=
      0) {
    return 0;
  }
  return ntohs(address.sin6_port);
}

Result<UniqueFd> listen_on_path(const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Error{"no_writable_dir", "cannot make a socket",
                      "the path is longer than 107 bytes", path,
                      "set TMPDIR to a shorter directory"});
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ::unlink(path.c_str());  // of a process that has ended
  UniqueFd out = open_socket(AF_UNIX, type);
  if (!out || !listens_at(out.get(), address) ||
      ::chmod(path.c_str(), 0600) != 0) {
    return fail_errno("resources", "cannot open a socket", path);
  }
  return out;
}

std::optional<pid_t> own_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != ::geteuid()) {
    return std::nullopt;
  }
  return peer.pid;
}

}  // namespace muster
