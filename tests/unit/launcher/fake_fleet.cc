// SPDX-License-Identifier: Apache-2.0
#include "fake_fleet.h"

#include <algorithm>

#include "run_loop.h"

namespace muster::test {

namespace {

class FakeTransport : public Transport {
 public:
  FakeTransport(Loop& loop, std::shared_ptr<FakePeer> peer, Behaviour behaviour)
      : loop_(loop), peer_(std::move(peer)), behaviour_(std::move(behaviour)) {}
  ~FakeTransport() override { peer_->transport_alive = false; }

  void start(TransportEvents events) override {
    peer_->events = std::move(events);
    peer_->reader = {};
    peer_->transport_alive = true;
    loop_.post([peer = peer_, behaviour = behaviour_] {
      if (peer->transport_alive) behaviour(*peer);
    });
  }
  void send(std::string_view bytes) override {
    ++peer_->sends;
    while (auto frame = peer_->reader.next(bytes).value_or(std::nullopt)) {
      peer_->got.push_back(*frame);
      if (frame->type == wire::FrameType::kHello && peer_->answers_hello) {
        loop_.post([peer = peer_] {
          wire::HelloReply reply;
          reply.protocol = wire::kProtocol;
          reply.version = "test";
          peer->say(wire::FrameType::kHelloReply, 0, wire::to_json(reply));
        });
      }
    }
  }
  [[nodiscard]] size_t queued() const override { return peer_->queued; }
  [[nodiscard]] std::string local_address() const override {
    return peer_->local;
  }
  [[nodiscard]] std::string peer_address() const override {
    return peer_->address;
  }

 private:
  Loop& loop_;
  std::shared_ptr<FakePeer> peer_;
  Behaviour behaviour_;
};

}  // namespace

void FakePeer::say(wire::FrameType type, uint32_t id,
                   const std::string& payload, uint8_t flags) {
  std::string bytes;
  wire::encode(type, flags, 0, id, payload, bytes);
  say_raw(bytes);
}

void FakePeer::say_raw(const std::string& bytes) {
  if (transport_alive) events.on_data(bytes);
}

void FakePeer::hang_up(const std::string& code) {
  if (!transport_alive) return;
  events.on_closed(Error{code, "the fake hung up", "the test says so", {}, {}});
}

size_t FakePeer::count(wire::FrameType type) const {
  return static_cast<size_t>(std::count_if(
      got.begin(), got.end(),
      [type](const wire::Frame& frame) { return frame.type == type; }));
}

std::string FakePeer::last(wire::FrameType type) const {
  for (auto frame = got.rbegin(); frame != got.rend(); ++frame) {
    if (frame->type == type) return frame->payload;
  }
  return {};
}

void open_and_answer(FakePeer& peer) { peer.events.on_open(); }

Behaviour fail_with(const std::string& code, const std::string& what) {
  return [code, what](FakePeer& peer) {
    peer.events.on_step("tcp");
    peer.events.on_closed(Error{code, what, "as scripted", {}, {}});
  };
}

std::unique_ptr<Transport> make_fake_transport(Loop& loop,
                                               std::shared_ptr<FakePeer> peer,
                                               Behaviour behaviour) {
  return std::make_unique<FakeTransport>(loop, std::move(peer),
                                         std::move(behaviour));
}

FakeFleet::FakeFleet(Loop& l, const std::vector<std::string>& hosts) : loop(l) {
  std::vector<FleetNode> nodes;
  for (const std::string& host : hosts) {
    auto peer = std::make_shared<FakePeer>();
    peer->address = "10.0.0." + std::to_string(peers.size() + 1);
    peers.push_back(peer);
    nodes.push_back({host, "", [this, peer] {
                       return make_fake_transport(loop, peer, open_and_answer);
                     }});
  }
  FleetEvents events;
  events.on_ready = [] {};
  events.on_failed = [](const std::vector<Laggard>&, bool) {};
  events.on_lost = [this](uint16_t node, Error error) {
    if (on_lost) on_lost(node, std::move(error));
  };
  fleet = std::make_unique<Fleet>(loop, test_hello(), std::move(nodes),
                                  std::move(events));
}

bool FakeFleet::connect() {
  fleet->start(Milliseconds{5'000});
  return run_until(loop,
                   [this] { return fleet->ready_count() == fleet->size(); });
}

wire::Hello test_hello() {
  wire::Hello hello;
  hello.protocol_min = wire::kProtocolMin;
  hello.protocol_max = wire::kProtocol;
  hello.version = "test";
  hello.launch_id = "0123456789abcdef";
  hello.job = "job";
  hello.incarnation = "1";
  hello.heartbeat_ms = 20;
  hello.silence_ms = 30'000;
  return hello;
}

}  // namespace muster::test
