// SPDX-License-Identifier: Apache-2.0
#include "base/accept_watch.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace muster {

namespace {

constexpr Milliseconds kPause{100};

}  // namespace

AcceptWatch::AcceptWatch(Loop& loop, int listener,
                         std::function<void(UniqueFd)> accepted)
    : listener_(listener),
      accepted_(std::move(accepted)),
      watch_(loop, listener),
      again_(loop) {
  watch_.on_readable([this] { accept_one(); });
}

void AcceptWatch::accept_one() {
  UniqueFd socket(
      ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) return accepted_(std::move(socket));
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
  watch_.stop_reading();
  again_.start(kPause,
               [this] { watch_.on_readable([this] { accept_one(); }); });
}

}  // namespace muster
