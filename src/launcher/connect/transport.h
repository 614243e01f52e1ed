// SPDX-License-Identifier: Apache-2.0
// Transport: the byte stream to one agent's stdin and stdout. The launcher
// does not care what carries it: ssh, a child process, or any command.
// All calls and events are on the launcher's loop; destroying a Transport at
// any time, also inside its own events, is safe and ends the stream.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// A client that sends much waits while so many bytes are queued.
constexpr size_t kQueueMark = 256 << 10;

struct TransportEvents {
  // How far an attempt got: "resolve", "tcp", "ssh", "agent". For laggards.
  std::function<void(std::string_view step)> on_step;
  std::function<void()> on_open;  // bytes written now reach the agent
  std::function<void(std::string_view)> on_data;
  std::function<void(std::string_view)> on_stderr;  // the agent's own words
  // queued() was at kQueueMark or above and is below it again.
  std::function<void()> on_drained;
  // Final: the stream did not open, or has ended. Nothing follows.
  std::function<void(Error)> on_closed;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual void start(TransportEvents events) = 0;
  virtual void send(std::string_view bytes) = 0;
  // The agent is given up: nothing was heard from it for too long.
  virtual void agent_is_silent() {}
  // Bytes accepted by send() that have not left this process.
  [[nodiscard]] virtual size_t queued() const = 0;
  // Both ends of the connection, "10.0.0.7"; empty where it has none.
  [[nodiscard]] virtual std::string local_address() const { return {}; }
  [[nodiscard]] virtual std::string peer_address() const { return {}; }
};

}  // namespace muster
