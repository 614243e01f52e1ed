// SPDX-License-Identifier: Apache-2.0
#include "worker/base/agent_channel.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fd.h"
#include "wire/messages.h"

namespace muster {

namespace {

// The start of the bytes that are not frames, fit for one line of text.
std::string printable_start(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, 60)) {
    out += c >= ' ' && c <= '~' ? c : '.';
  }
  return out;
}

}  // namespace

AgentChannel::AgentChannel(Loop& loop, int in, int out, Handlers handlers)
    : loop_(loop),
      in_(in),
      out_(out),
      handlers_(std::move(handlers)),
      finish_timer_(loop),
      in_watch_(loop, in),
      out_watch_(loop, out) {
  set_nonblocking(in_);
  set_nonblocking(out_);
  in_watch_.on_readable([this] { read_some(); });
}

void AgentChannel::send(wire::FrameType type, uint8_t flags, uint32_t id,
                        std::string_view payload) {
  if (deaf_) return;
  if (payload.size() > wire::kMaxPayload) {
    // The launcher would take it for garbage, and us for lost.
    return send(wire::FrameType::kLog, 0, 0,
                wire::to_json(wire::LogLine{
                    "error", "left out " + std::to_string(payload.size()) +
                                 " bytes, too many for a message of type " +
                                 std::to_string(static_cast<int>(type))}));
  }
  wire::encode(type, flags, node_, id, payload, queue_);
  if (waiting_to_write_ || flush_posted_) return;
  flush_posted_ = true;
  loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    flush_posted_ = false;
    if (!waiting_to_write_) write_some();
  });
}

void AgentChannel::finish(Milliseconds deadline, std::function<void()> done) {
  finished_ = std::move(done);
  finish_timer_.start(deadline, [this] {
    deaf_ = true;
    check_finished();
  });
  check_finished();
}

void AgentChannel::read_some() {
  std::array<char, 64 * 1024> buffer;
  const ssize_t n = ::read(in_, buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) return end(ChannelEnd::kBroken, strerror(errno));
  if (n == 0) return end(ChannelEnd::kEof, "the connection was closed");
  silence_.heard(Clock::now());
  std::string_view bytes(buffer.data(), static_cast<size_t>(n));
  while (!ended_) {
    auto frame = reader_.next(bytes);
    if (!frame) {
      return end(ChannelEnd::kGarbage,
                 "it sent \"" + printable_start(reader_.refused()) + "\"");
    }
    if (!*frame) return;
    handlers_.frame(**frame);
  }
}

void AgentChannel::write_some() {
  while (written_ < queue_.size()) {
    const ssize_t n =
        ::write(out_, queue_.data() + written_, queue_.size() - written_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      const int saved = errno;
      deaf_ = true;
      end(ChannelEnd::kBroken, strerror(saved));
      break;
    }
    written_ += static_cast<size_t>(n);
  }
  if (deaf_ || written_ == queue_.size()) {
    queue_.clear();
    written_ = 0;
    waiting_to_write_ = false;
    out_watch_.stop_writing();
    check_finished();
    return;
  }
  if (written_ > (1 << 20)) {
    queue_.erase(0, written_);
    written_ = 0;
  }
  if (!waiting_to_write_) {
    waiting_to_write_ = true;
    out_watch_.on_writable([this] { write_some(); });
  }
}

void AgentChannel::end(ChannelEnd kind, const std::string& text) {
  if (ended_) return;
  ended_ = true;
  in_watch_.stop_reading();
  handlers_.ended(kind, text);
}

void AgentChannel::check_finished() {
  if (!finished_ || (!deaf_ && !queue_.empty())) return;
  finish_timer_.cancel();
  const auto done = std::exchange(finished_, nullptr);
  done();
}

}  // namespace muster
