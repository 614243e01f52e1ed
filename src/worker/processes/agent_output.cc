// SPDX-License-Identifier: Apache-2.0
#include "worker/processes/agent_output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

#include "base/json_text.h"
#include "wire/frame.h"

namespace muster {

namespace {
// Reads per turn of the loop: enough for throughput, few enough for fairness.
constexpr int kReadsPerTurn = 4;
constexpr int64_t kDefaultPipeSize = 64 * 1024;
// A turn that brought this much, a block of stdio, was in the middle of more;
// one that brought half of a full read need not wait to bring much. (Not a
// whole read: the start of a line takes room from it, and credit may allow no
// second one.)
constexpr size_t kBusy = 4096;
constexpr size_t kPlenty = LineBuffer::kMaxPiece / 2;
constexpr Milliseconds kGather{1};
// The pipe of a rank that prints without a pause holds this much, so that the
// rank need not stop before its pipe is read again. The kernel may refuse: a
// user's pipes hold 64 MiB by default.
constexpr int kBusyPipeSize = 256 * 1024;
}  // namespace

OutputStream::OutputStream(Loop& loop, SendFrame send, uint32_t id,
                           uint8_t stream, UniqueFd pipe, uint32_t credit,
                           Milliseconds partial, std::function<void()> ended)
    : send_(std::move(send)),
      id_(id),
      stream_(stream),
      pipe_(std::move(pipe)),
      credit_(credit),
      partial_(partial),
      ended_(std::move(ended)),
      flush_(loop),
      gather_(loop) {
  set_nonblocking(pipe_.get());
  watch_.emplace(loop, pipe_.get());
  read_or_wait();
}

void OutputStream::add_credit(uint32_t bytes) {
  if (ended()) return;
  credit_ += bytes;
  flush_later();
  read_or_wait();
}

void OutputStream::process_exited() {
  if (ended()) return;
  const int size = ::fcntl(pipe_.get(), F_GETPIPE_SZ);
  // The content of a full pipe, and the read that sees its end.
  free_bytes_ = (size > 0 ? size : kDefaultPipeSize) + 1;
  read_or_wait();
}

void OutputStream::give_up() {
  if (ended()) return;
  int left = 0;
  if (::ioctl(pipe_.get(), FIONREAD, &left) == 0 && left > 0) {
    bytes_lost_ = static_cast<uint64_t>(left);
  }
  end();
}

void OutputStream::read_or_wait() {
  const bool wanted = may_read();
  if (wanted == reading_) return;
  reading_ = wanted;
  if (wanted) {
    watch_->on_readable([this] { read_some(); });
  } else {
    watch_->stop_reading();
  }
}

void OutputStream::read_some() {
  size_t taken = 0;
  for (int turn = 0; turn < kReadsPerTurn && may_read(); ++turn) {
    const std::span<char> room = lines_.room();
    const ssize_t n = ::read(pipe_.get(), room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) return end();
    if (free_bytes_ > 0) free_bytes_ -= n;
    const auto count = static_cast<size_t>(n);
    taken += count;
    if (const auto piece = lines_.add(count)) {
      emit(*piece);
      flush_.cancel();  // the rest came just now
    }
    if (count < room.size()) break;
  }
  flush_later();
  if (taken >= kBusy && !enlarged_) {
    enlarged_ = true;
    ::fcntl(pipe_.get(), F_SETPIPE_SZ, kBusyPipeSize);
  }
  if (taken >= kBusy && taken < kPlenty) {
    gather_.start(kGather, [this] { read_or_wait(); });
  }
  read_or_wait();
}

void OutputStream::emit(std::string_view bytes, uint8_t flags) {
  credit_ -= static_cast<int64_t>(bytes.size());
  send_(wire::FrameType::kOutput, static_cast<uint8_t>(stream_ | flags), id_,
        wire::output_payload(realtime_ns(), bytes));
}

void OutputStream::flush_later() {
  if (lines_.empty()) {
    flush_.cancel();
  } else if (!flush_.pending()) {
    flush_.start(partial_, [this] { emit_partial(); });
  }
}

void OutputStream::emit_partial() {
  // Without credit the tail waits for the credit that add_credit() brings.
  if ((credit_ <= 0 && free_bytes_ <= 0) || lines_.empty()) return;
  emit(lines_.take_rest());
  read_or_wait();
}

void OutputStream::end() {
  flush_.cancel();
  gather_.cancel();
  emit(lines_.take_rest(), wire::kEnd);
  watch_.reset();
  pipe_.reset();
  ended_();
}

}  // namespace muster
