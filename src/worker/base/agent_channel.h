// SPDX-License-Identifier: Apache-2.0
// AgentChannel: the agent's only link. Frames in from one descriptor, frames
// out to another (pipes, sockets, both ends of one socket), never blocking.
// Frames of one turn of the loop leave in one write: each write wakes the
// process of the connection, and then the launcher. The outgoing queue has no
// limit of its own: control frames are few, and the launcher's credits bound
// output frames. Refuses: bytes that are not frames; payloads above
// kMaxPayload, which become a kLog. Borrows the descriptors. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/silence.h"
#include "wire/frame.h"

namespace muster {

// Sends the frames of all parts of the agent.
using SendFrame = std::function<void(wire::FrameType type, uint8_t flags,
                                     uint32_t id, std::string_view payload)>;

enum class ChannelEnd {
  kEof,      // the launcher closed its side
  kGarbage,  // what arrived is not this protocol
  kBroken,   // a read or write failed
};

class AgentChannel {
 public:
  struct Handlers {
    std::function<void(const wire::Frame&)> frame;
    // Once; no frame is delivered afterwards. `text` is a clause for people.
    std::function<void(ChannelEnd, const std::string& text)> ended;
  };

  AgentChannel(Loop& loop, int in, int out, Handlers handlers);

  // Stamped into every frame sent from now on.
  void set_node(uint16_t node) { node_ = node; }
  void send(wire::FrameType type, uint8_t flags, uint32_t id,
            std::string_view payload);
  // Time since the last frame; call it every `every`, see Silence.
  Milliseconds silence(Milliseconds every) {
    return silence_.look(Clock::now(), every);
  }
  // Calls `done` when everything is written, the channel is dead, or
  // `deadline` has passed.
  void finish(Milliseconds deadline, std::function<void()> done);

 private:
  void read_some();
  void write_some();
  void end(ChannelEnd kind, const std::string& text);
  void check_finished();

  Loop& loop_;
  int in_;
  int out_;
  uint16_t node_ = 0;
  bool ended_ = false;
  bool deaf_ = false;  // writing failed: frames are dropped
  bool waiting_to_write_ = false;
  bool flush_posted_ = false;
  Silence silence_{Clock::now()};
  wire::FrameReader reader_;
  std::string queue_;
  size_t written_ = 0;  // bytes at the front of queue_ already gone
  Handlers handlers_;
  std::function<void()> finished_;
  Timer finish_timer_;
  FdWatch in_watch_;
  FdWatch out_watch_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster
