// SPDX-License-Identifier: Apache-2.0
// OutputStream: one output pipe of one process, turned into kOutput frames.
// Reads only while the launcher has given credit, so a stalled launcher stops
// the rank through its full pipe instead of filling the agent's memory.
//
// Credit counts output bytes. The last read may overdraw it by one piece
// (32 KiB): a line is never cut because of credit. Once the process has exited
// what its pipe still holds is sent without credit, so that an exit is never
// held up by a slow reader; that is bounded by the size of the pipe.
//
// A rank that prints without a pause is read once a millisecond: what its pipe
// gathers meanwhile costs one wake-up of agent, network and launcher, not one
// for each 4 KiB that its stdio flushes. A few lines now and then never wait.
// Owns the descriptor. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/fd.h"
#include "base/loop.h"
#include "worker/base/agent_channel.h"
#include "worker/processes/line_buffer.h"

namespace muster {

class OutputStream {
 public:
  // `stream` is wire::kStdout or wire::kStderr. Text without a line end leaves
  // after `partial`, though more may follow: a prompt and a progress bar are
  // seen, and a worker that is lost does not take it along. `ended` is called
  // once, after kEnd was sent; it must not destroy this object.
  OutputStream(Loop& loop, SendFrame send, uint32_t id, uint8_t stream,
               UniqueFd pipe, uint32_t credit, Milliseconds partial,
               std::function<void()> ended);

  void add_credit(uint32_t bytes);
  // The process is gone: drain without credit.
  void process_exited();
  // Ends the stream although somebody still holds the pipe open.
  void give_up();
  [[nodiscard]] bool ended() const { return !watch_; }
  // Bytes that were in the pipe when it was given up.
  [[nodiscard]] uint64_t bytes_lost() const { return bytes_lost_; }

 private:
  [[nodiscard]] bool may_read() const {
    return free_bytes_ > 0 || (credit_ > 0 && !gather_.pending());
  }
  void read_some();
  void read_or_wait();
  void emit(std::string_view bytes, uint8_t flags = 0);
  void flush_later();
  void emit_partial();
  void end();

  SendFrame send_;
  uint32_t id_;
  uint8_t stream_;
  UniqueFd pipe_;
  int64_t credit_;
  int64_t free_bytes_ = 0;  // after exit: what may be read without credit
  uint64_t bytes_lost_ = 0;
  Milliseconds partial_;
  bool reading_ = false;
  bool enlarged_ = false;  // the pipe, or tried
  LineBuffer lines_;
  std::function<void()> ended_;
  Timer flush_;
  Timer gather_;
  std::optional<FdWatch> watch_;
};

}  // namespace muster
