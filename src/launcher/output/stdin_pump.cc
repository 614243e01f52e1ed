// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/stdin_pump.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster {

namespace {

constexpr Milliseconds kForegroundCheck{300};

// A background job that reads its terminal stops (SIGTTIN), and with it the
// heartbeats.
bool is_in_background(int fd) {
  const pid_t foreground = ::tcgetpgrp(fd);
  return foreground > 0 && foreground != ::getpgrp();
}

}  // namespace

StdinPump::StdinPump(Loop& loop, int fd, Send send, SendEof send_eof)
    : loop_(loop),
      fd_(fd),
      send_(std::move(send)),
      send_eof_(std::move(send_eof)),
      foreground_(loop) {}

void StdinPump::add_target(ProcessKey key) {
  credit_.emplace(key, 0);
  update();  // it has no credit yet: reading waits for it
  if (ended_) send_eof_(key);
}

void StdinPump::remove_target(ProcessKey key) {
  credit_.erase(key);
  update();
}

void StdinPump::credit(ProcessKey key, uint32_t bytes) {
  const auto found = credit_.find(key);
  if (found == credit_.end()) return;
  found->second += bytes;
  update();
}

void StdinPump::update() {
  const bool want =
      !ended_ && !credit_.empty() &&
      std::none_of(credit_.begin(), credit_.end(),
                   [](const auto& entry) { return entry.second == 0; });
  if (want == reading_) return;
  reading_ = want;
  if (want) {
    if (!watch_) watch_ = std::make_unique<FdWatch>(loop_, fd_);
    watch_->on_readable([this] { read_some(); });
  } else if (watch_) {
    watch_->stop_reading();
  }
}

void StdinPump::read_some() {
  if (is_in_background(fd_)) {
    watch_->stop_reading();
    reading_ = false;
    foreground_.start(kForegroundCheck, [this] { update(); });
    return;
  }
  char buffer[32768];
  size_t room = sizeof buffer;
  for (const auto& [key, credit] : credit_) {
    room = std::min<size_t>(room, credit);
  }
  const ssize_t n = ::read(fd_, buffer, room);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    ended_ = true;
    for (const auto& [key, credit] : credit_) send_eof_(key);
  } else {
    for (auto& [key, credit] : credit_) {
      send_(key, std::string_view(buffer, static_cast<size_t>(n)));
      credit -= static_cast<uint32_t>(n);
    }
  }
  update();
}

}  // namespace muster
