// SPDX-License-Identifier: Apache-2.0
#include "worker/processes/agent_input.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace muster {

InputPipe::InputPipe(Loop& loop, SendFrame send, uint32_t id, UniqueFd pipe)
    : send_(std::move(send)), id_(id), pipe_(std::move(pipe)) {
  set_nonblocking(pipe_.get());
  watch_.emplace(loop, pipe_.get());
  grant(kWindow);
}

bool InputPipe::write(std::string_view bytes) {
  if (!watch_) {  // the process closed its end: swallow, and keep bytes coming
    grant(bytes.size());
    return true;
  }
  if (queue_.size() + bytes.size() > kWindow) return false;
  queue_.append(bytes);
  if (!waiting_) write_some();
  return true;
}

void InputPipe::end() {
  ending_ = true;
  if (!waiting_) write_some();
}

void InputPipe::write_some() {
  if (!watch_) return;
  size_t done = 0;
  bool broken = false;
  while (done < queue_.size()) {
    const ssize_t n =
        ::write(pipe_.get(), queue_.data() + done, queue_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      broken = true;
      done = queue_.size();
      break;
    }
    done += static_cast<size_t>(n);
  }
  queue_.erase(0, done);
  if (done > 0) grant(done);
  if (broken || (ending_ && queue_.empty())) {
    watch_.reset();
    pipe_.reset();
    return;
  }
  const bool more = !queue_.empty();
  if (more == waiting_) return;
  waiting_ = more;
  if (more) {
    watch_->on_writable([this] { write_some(); });
  } else {
    watch_->stop_writing();
  }
}

void InputPipe::grant(size_t bytes) {
  if (bytes == 0) return;
  send_(wire::FrameType::kStdinCredit, 0, id_,
        wire::u32_payload(static_cast<uint32_t>(bytes)));
}

}  // namespace muster
