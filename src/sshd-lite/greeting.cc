// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/greeting.h"

#include <fcntl.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster {

namespace {

constexpr size_t kMaxVersionLine = 255;  // RFC 4253, 4.2

}  // namespace

bool Greeting::begin(const std::string& sent) {
  auto pair = make_socketpair(SOCK_STREAM);
  real_.reset(::fcntl(socket_, F_DUPFD_CLOEXEC, 0));
  if (!pair || !real_) return false;
  set_nonblocking(pair->write.get());
  if (::dup3(pair->write.get(), socket_, O_CLOEXEC) < 0) return false;
  decoy_ = std::move(pair->read);
  // The two lines must be one: it is part of what the host key signs.
  return from_libssh() == sent;
}

// The bytes that libssh sends now.
std::string Greeting::from_libssh() {
  std::string out;
  for (int i = 0; i < 8 && out.empty(); ++i) {
    if (ssh_handle_key_exchange(session_) == SSH_ERROR) break;
    char bytes[8192];
    const ssize_t n = ::recv(decoy_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) out.assign(bytes, static_cast<size_t>(n));
  }
  return out;
}

// Takes nothing behind the line.
bool Greeting::read_line(Milliseconds limit, std::string& line) const {
  const auto deadline = Clock::now() + limit;
  while (!line.ends_with('\n')) {
    const auto left =
        std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || line.size() > kMaxVersionLine) return false;
    pollfd ready{real_.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return false;
    char bytes[kMaxVersionLine];
    ssize_t n = ::recv(real_.get(), bytes, sizeof bytes, MSG_PEEK);
    if (n <= 0) return false;
    const std::string_view seen(bytes, static_cast<size_t>(n));
    const size_t end = seen.find('\n');
    n = ::recv(real_.get(), bytes, end == seen.npos ? seen.size() : end + 1, 0);
    if (n <= 0) return false;
    line.append(bytes, static_cast<size_t>(n));
  }
  return line.starts_with("SSH-");
}

// The line alone at first: if an unsuitable key exchange came with it, libssh
// would end before it has sent its own list.
bool Greeting::finish(Milliseconds limit) {
  std::string line;
  if (!read_line(limit, line) || !write_all(decoy_.get(), line)) return false;
  const std::string answer = from_libssh();
  if (answer.empty() || !write_all(real_.get(), answer)) return false;
  const bool swapped = ::dup3(real_.get(), socket_, O_CLOEXEC) >= 0;
  real_.reset();
  decoy_.reset();
  return swapped;
}

}  // namespace muster
