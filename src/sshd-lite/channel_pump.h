// SPDX-License-Identifier: Apache-2.0
// Moves bytes between one SSH channel and the pipes of the program that runs
// for it, with backpressure both ways: reads a pipe only while the client's
// window is open and nothing of ours waits; the window grows only as fast as
// the program reads its stdin. Holds at most one window (1.25 MiB) of stdin,
// and libssh another; of output, 32 KiB a stream. Half-close is exact, and the
// exit status goes out only after all output. Owns the pipe ends, borrows
// session and channel. Never blocks.
#pragma once

#include <poll.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

struct ssh_session_struct;
struct ssh_channel_struct;

namespace muster {

struct ProgramPipes {
  UniqueFd stdin_write;
  UniqueFd stdout_read;
  UniqueFd stderr_read;
};

class ChannelPump {
 public:
  ChannelPump(ssh_session_struct* session, ssh_channel_struct* channel,
              ProgramPipes pipes);

  // Descriptors of the pipes to wait for, given the present state.
  void add_to_poll(std::vector<pollfd>& out) const;
  // The result of the wait: tries nothing else, since most lines come alone.
  void take_polled(const std::vector<pollfd>& fds);
  // libssh has taken bytes for the program's stdin from the socket.
  void stdin_arrived() { stdin_arrived_ = true; }
  // Moves all that it can now; false: nothing moved, wait for readiness.
  bool pump();
  // Before a wait: sends the bytes that pump() held back for one packet.
  void let_go();
  // The program has ended: its pipes hold the rest of its output.
  void ended(int wait_status);
  // Status, EOF and close have been queued: flush the session and leave.
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  struct Output {
    UniqueFd pipe;
    bool is_stderr = false;
    bool readable = true;  // it may hold bytes
    std::string pending;
    size_t left_after_end;  // bytes to read after the program's end
  };

  bool take_stdin();
  std::string_view read_output(Output& output, std::span<char> buffer);
  bool pump_stdin();
  bool pump_output(Output& output);
  [[nodiscard]] bool may_send() const;
  void finish();

  ssh_session_struct* session_;
  ssh_channel_struct* channel_;
  UniqueFd stdin_;
  std::string stdin_pending_;
  size_t stdin_done_ = 0;      // of stdin_pending_, passed to the program
  bool stdin_arrived_ = true;  // libssh may hold some
  bool stdin_eof_ = false;
  std::array<Output, 2> outputs_;
  // On the heap: a large stack frame touches its pages, used or not.
  std::unique_ptr<char[]> room_;
  std::optional<int> wait_status_;
  bool held_ = true;  // packets: the answer to the command is on its way
  bool finished_ = false;
};

}  // namespace muster
