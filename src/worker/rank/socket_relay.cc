// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/socket_relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace muster {

namespace {

// Worth another try, later or now.
bool is_passing(int error) {
  return error == EAGAIN || error == EINTR || error == EINPROGRESS;
}

}  // namespace

SocketRelay::SocketRelay(Loop& loop, UniqueFd left, UniqueFd right,
                         std::function<void()> done)
    : done_(std::move(done)) {
  left_.socket = std::move(left);
  right_.socket = std::move(right);
  for (Side* side : {&left_, &right_}) {
    set_nonblocking(side->socket.get());
    side->watch = std::make_unique<FdWatch>(loop, side->socket.get());
  }
  left_.watch->on_readable([this] { read_from(left_, right_); });
  right_.watch->on_readable([this] { read_from(right_, left_); });
}

void SocketRelay::read_from(Side& from, Side& to) {
  std::array<char, 64 * 1024> bytes;
  const ssize_t n = ::read(from.socket.get(), bytes.data(), bytes.size());
  if (n < 0 && is_passing(errno)) return;
  if (n > 0) {
    from.unsent.assign(bytes.data(), static_cast<size_t>(n));
  } else {
    from.ended = true;
  }
  // Reads nothing more before this is written.
  from.watch->stop_reading();
  write_to(to, from);
}

void SocketRelay::write_to(Side& to, Side& from) {
  while (!from.unsent.empty()) {
    const ssize_t n = ::send(to.socket.get(), from.unsent.data(),
                             from.unsent.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && is_passing(errno)) {
      to.watch->on_writable([this, &to, &from] { write_to(to, from); });
      return;
    }
    if (n < 0) return finish();
    from.unsent.erase(0, static_cast<size_t>(n));
  }
  to.watch->stop_writing();
  if (from.ended) return finish();
  from.watch->on_readable([this, &to, &from] { read_from(from, to); });
}

void SocketRelay::finish() {
  left_.watch.reset();
  right_.watch.reset();
  if (const auto done = std::exchange(done_, nullptr)) done();
}

}  // namespace muster
