// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/no_descriptors.h"

namespace muster {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0 && fd_ != fd) ::close(fd_);
  fd_ = fd;
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return fail_descriptor("pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Result<Pipe> make_socketpair(int type) {
  int fds[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0) {
    return fail_descriptor("socketpair");
  }
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void set_nonblocking(int fd, bool on) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return;
  ::fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

namespace {

// Waits until a pipe has bytes or no writer; false: not in time, with errno.
bool await_bytes(int fd, std::chrono::steady_clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
  pollfd ready{fd, POLLIN, 0};
  const int found =
      left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
  if (found == 0) errno = ETIMEDOUT;
  return found > 0 || (found < 0 && errno == EINTR);
}

}  // namespace

// Of the things that a path may name only a pipe blocks, at first until another
// process opens its other end: with O_NONBLOCK it counts as empty then.
Result<std::string> read_file(const std::string& path, size_t limit) {
  constexpr std::chrono::seconds kPatience{10};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return fail_errno("file_unreadable", "cannot read", path);
  std::string out;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN && await_bytes(fd.get(), until)) continue;
    if (n < 0) return fail_errno("file_unreadable", "cannot read", path);
    if (n == 0) return out;
    if (out.size() + static_cast<size_t>(n) > limit) {
      return fail(Error{"file_too_large",
                        "cannot read",
                        "larger than " + std::to_string(limit) + " bytes",
                        path,
                        {}});
    }
    out.append(buffer, static_cast<size_t>(n));
  }
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // made so by a process that shares it
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (n < 0) return fail_errno("write_failed", "write");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

namespace {
constexpr size_t kMaxFds = 8;
}

Status send_with_fds(int socket, std::string_view bytes,
                     std::span<const int> fds) {
  if (fds.size() > kMaxFds) {
    return fail(Error{
        "resources",
        "cannot send " + std::to_string(fds.size()) + " descriptors at once",
        "8 is the limit",
        {},
        {}});
  }
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)] = {};
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t n;
  do {
    n = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return fail_errno("write_failed", "sendmsg");
  return {};
}

Result<Received> receive_with_fds(int socket, size_t limit) {
  Received out;
  // Not filled with zeros: most packets are a hundredth of the limit, and each
  // touched page stays with the connection.
  const auto room = std::make_unique_for_overwrite<char[]>(limit);
  iovec part{room.get(), limit};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    const bool again = errno == EAGAIN || errno == EWOULDBLOCK;
    return fail_errno(again ? "again" : "read_failed", "recvmsg");
  }
  out.bytes.assign(room.get(), static_cast<size_t>(n));
  out.eof = n == 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      out.fds.emplace_back(fd);
    }
  }
  return out;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace muster
