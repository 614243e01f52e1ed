// SPDX-License-Identifier: Apache-2.0
// OutputStream: turns one output pipe of one process into kOutput frames. Reads
// only while the launcher has given credit, so a stalled launcher stops the
// rank through its full pipe instead of filling the agent's memory.
//
// Credit counts output bytes. The last read may overdraw it by one piece (32
// KiB): credit never cuts a line. After the process has exited, the rest of its
// pipe goes out without credit, so that a slow reader never holds up an exit;
// the size of the pipe bounds that rest.
//
// A rank that prints without a pause is read once a millisecond: the bytes that
// its pipe gathers meanwhile cost one wake-up of agent, network and launcher,
// not one for each 4 KiB that its stdio flushes. A few lines now and then never
// wait. Owns the descriptor. Loop thread.
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
  // after `partial`, even if more follows: prompts and progress bars show, and
  // are not lost with a worker. `ended` is called once, after kEnd was sent; it
  // must not destroy this object.
  OutputStream(Loop& loop, SendFrame send, uint32_t id, uint8_t stream,
               UniqueFd pipe, uint32_t credit, Milliseconds partial,
               std::function<void()> ended);

  void add_credit(uint32_t bytes);
  // The process has ended: drains without credit.
  void process_exited();
  // Ends the stream although a process still holds the pipe open.
  void give_up();
  [[nodiscard]] bool ended() const { return !watch_; }
  // Bytes left in the pipe at the end.
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
  int64_t free_bytes_ = 0;  // after exit: bytes that may go out without credit
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
