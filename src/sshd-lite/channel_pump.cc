// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/channel_pump.h"

#include <libssh/libssh.h>
#include <libssh/server.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sshd-lite/listener.h"
#include "sshd-lite/signal_names.h"

namespace muster {

namespace {

// The largest packet that peers take, less the 10 bytes of its header that
// libssh counts: one byte more would be a packet of its own.
constexpr size_t kChunk = 32 * 1024 - 10;
// A pipe holds 64 KiB (pipe(7)); a grandchild that keeps on writing into the
// program's stdout must not keep the session open.
constexpr size_t kMaxAfterEnd = 1 << 20;

}  // namespace

ChannelPump::ChannelPump(ssh_session_struct* session,
                         ssh_channel_struct* channel, ProgramPipes pipes)
    : session_(session),
      channel_(channel),
      stdin_(std::move(pipes.stdin_write)),
      outputs_{
          Output{std::move(pipes.stdout_read), false, true, {}, kMaxAfterEnd},
          Output{std::move(pipes.stderr_read), true, true, {}, kMaxAfterEnd}},
      room_(std::make_unique_for_overwrite<char[]>(kChunk)) {
  for (const int fd :
       {stdin_.get(), outputs_[0].pipe.get(), outputs_[1].pipe.get()}) {
    set_nonblocking(fd);
  }
}

// libssh buffers output without bound, so adds nothing while some waits.
bool ChannelPump::may_send() const {
  return (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) == 0 &&
         ssh_channel_window_size(channel_) > 0;
}

void ChannelPump::add_to_poll(std::vector<pollfd>& out) const {
  if (stdin_ && !stdin_pending_.empty()) {
    out.push_back({stdin_.get(), POLLOUT, 0});
  }
  if (!may_send()) return;
  for (const Output& output : outputs_) {
    if (output.pipe && output.pending.empty()) {
      out.push_back({output.pipe.get(), POLLIN, 0});
    }
  }
}

void ChannelPump::take_polled(const std::vector<pollfd>& fds) {
  for (Output& output : outputs_) {
    output.readable |=
        std::any_of(fds.begin(), fds.end(), [&output](const pollfd& one) {
          return one.fd == output.pipe.get() && one.revents != 0;
        });
  }
}

void ChannelPump::let_go() {
  if (std::exchange(held_, false)) hold_packets(ssh_get_fd(session_), false);
}

bool ChannelPump::pump() {
  if (finished_) return false;
  bool moved = pump_stdin();
  for (Output& output : outputs_) moved = pump_output(output) || moved;
  const bool drained =
      std::all_of(outputs_.begin(), outputs_.end(), [](const Output& output) {
        return !output.pipe && output.pending.empty();
      });
  if (wait_status_ && drained) finish();
  return moved;
}

// libssh opens the window again at each read, however much it still holds, and
// loses bytes once it holds 128 MiB. So this takes everything it holds at once,
// and nothing more until the program has had all of it: two windows at most.
bool ChannelPump::take_stdin() {
  const int held =
      std::exchange(stdin_arrived_, false) ? ssh_channel_poll(channel_, 0) : 0;
  if (held > 0) {
    stdin_pending_.resize(static_cast<size_t>(held));
    const int n = ssh_channel_read_nonblocking(channel_, stdin_pending_.data(),
                                               static_cast<uint32_t>(held), 0);
    stdin_pending_.resize(n > 0 ? static_cast<size_t>(n) : 0);
    stdin_done_ = 0;
    stdin_arrived_ |= n > 0 && n < held;
    return n > 0;
  }
  stdin_eof_ = held == SSH_EOF || ssh_channel_is_eof(channel_) != 0;
  return false;
}

bool ChannelPump::pump_stdin() {
  bool moved = false;
  if (stdin_pending_.empty() && !stdin_eof_) moved = take_stdin();
  if (!stdin_) {
    stdin_pending_.clear();  // the program reads no more: take it and drop it
    return moved;
  }
  if (!stdin_pending_.empty()) {
    const ssize_t n = ::write(stdin_.get(), stdin_pending_.data() + stdin_done_,
                              stdin_pending_.size() - stdin_done_);
    if (n > 0) {
      stdin_done_ += static_cast<size_t>(n);
      if (stdin_done_ == stdin_pending_.size()) stdin_pending_.clear();
      moved = true;
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
      stdin_.reset();
    }
  }
  if (stdin_eof_ && stdin_pending_.empty()) stdin_.reset();
  return moved;
}

// Empty: there is nothing, now or ever again.
std::string_view ChannelPump::read_output(Output& output,
                                          std::span<char> buffer) {
  const size_t room =
      std::min<size_t>({buffer.size(), ssh_channel_window_size(channel_),
                        wait_status_ ? output.left_after_end : buffer.size()});
  const ssize_t n =
      room > 0 ? ::read(output.pipe.get(), buffer.data(), room) : 0;
  if (n <= 0) {
    const bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
    if (!later || (errno == EAGAIN && wait_status_)) output.pipe.reset();
    output.readable = n < 0 && errno == EINTR;
    return {};
  }
  const auto count = static_cast<size_t>(n);
  if (wait_status_) output.left_after_end -= count;
  // Fewer bytes than there was room for were all; for a program that has ended,
  // its pipe must confirm that.
  output.readable = count == room || wait_status_;
  if (count == buffer.size() && !std::exchange(held_, true)) {
    hold_packets(ssh_get_fd(session_), true);  // more comes at once
  }
  return {buffer.data(), count};
}

bool ChannelPump::pump_output(Output& output) {
  bool moved = false;
  std::string_view next = output.pending;
  if (output.pipe && output.readable && next.empty() && may_send()) {
    next = read_output(output, {room_.get(), kChunk});
    moved = !next.empty() || !output.pipe;
  }
  if (next.empty()) return moved;
  const auto size = static_cast<uint32_t>(
      std::min<size_t>(next.size(), ssh_channel_window_size(channel_)));
  const auto write =
      output.is_stderr ? ssh_channel_write_stderr : ssh_channel_write;
  // 0: key exchange under way; < 0: the session is over.
  const int n = size > 0 ? write(channel_, next.data(), size) : 0;
  const size_t sent = n > 0 ? static_cast<size_t>(n) : 0;
  if (!output.pending.empty()) {
    output.pending.erase(0, sent);
  } else if (sent < next.size()) {
    output.pending.assign(next.substr(sent));
  }
  return moved || sent > 0;
}

void ChannelPump::ended(int wait_status) {
  wait_status_ = wait_status;
  for (Output& output : outputs_) output.readable = true;
}

void ChannelPump::finish() {
  finished_ = true;
  if (WIFSIGNALED(*wait_status_)) {
    ssh_channel_request_send_exit_signal(
        channel_, ssh_signal_name(WTERMSIG(*wait_status_)).c_str(),
        WCOREDUMP(*wait_status_) ? 1 : 0, "", "");
  } else {
    ssh_channel_request_send_exit_status(channel_, WEXITSTATUS(*wait_status_));
  }
  ssh_channel_send_eof(channel_);
  ssh_channel_close(channel_);
}

}  // namespace muster
