// SPDX-License-Identifier: Apache-2.0
// Agents that exist only as a test's script: a Transport whose other end is
// this file. What was sent to an agent is kept, what it says is up to the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "launcher/connect/fleet.h"
#include "launcher/connect/transport.h"
#include "wire/messages.h"

namespace muster::test {

// The other end of one transport. Outlives it.
struct FakePeer {
  TransportEvents events;
  wire::FrameReader reader;
  std::vector<wire::Frame> got;  // frames the launcher sent, hello included
  int sends = 0;                 // in how many pieces
  bool transport_alive = false;
  bool answers_hello = true;
  std::string local = "10.0.0.1";
  std::string address = "10.0.0.2";
  size_t queued = 0;

  // Both are ignored once the transport is gone, as a real one would.
  void say(wire::FrameType type, uint32_t id = 0,
           const std::string& payload = {}, uint8_t flags = 0);
  void say_raw(const std::string& bytes);
  void hang_up(const std::string& code);
  [[nodiscard]] size_t count(wire::FrameType type) const;
  // Payload of the newest frame of `type`; empty if none came.
  [[nodiscard]] std::string last(wire::FrameType type) const;
};

// What happens when a transport is started: open it, fail, or say nothing.
using Behaviour = std::function<void(FakePeer&)>;
void open_and_answer(FakePeer& peer);
Behaviour fail_with(const std::string& code, const std::string& what = "no");

std::unique_ptr<Transport> make_fake_transport(Loop& loop,
                                               std::shared_ptr<FakePeer> peer,
                                               Behaviour behaviour);

// A launcher's Fleet over fake agents, connected.
class FakeFleet {
 public:
  explicit FakeFleet(Loop& loop, const std::vector<std::string>& hosts);
  // Until all are ready.
  bool connect();

  Loop& loop;
  std::vector<std::shared_ptr<FakePeer>> peers;
  std::function<void(uint16_t, Error)> on_lost;
  std::unique_ptr<Fleet> fleet;
};

wire::Hello test_hello();

}  // namespace muster::test
