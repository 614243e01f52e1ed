// SPDX-License-Identifier: Apache-2.0
// Frames in and out, over sockets that keep apart what was written apart.
#include "worker/base/agent_channel.h"

#include <sys/socket.h>

#include "../launcher/run_loop.h"
#include "base/fd.h"
#include "catch.h"

using namespace muster;
using muster::test::run_for;
using muster::test::run_until;

namespace {

std::string packet_from(int fd) {
  char bytes[4096];
  const ssize_t n = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : std::string();
}

}  // namespace

TEST_CASE("what is sent in one turn of the loop leaves together") {
  Loop loop;
  auto in = make_socketpair(SOCK_STREAM);
  auto out = make_socketpair(SOCK_SEQPACKET);
  REQUIRE(in);
  REQUIRE(out);
  AgentChannel* answering = nullptr;
  int frames = 0;
  AgentChannel channel(loop, in->read.get(), out->write.get(),
                       {[&](const wire::Frame& frame) {
                          ++frames;
                          answering->send(frame.type, 0, frame.id, "answer");
                        },
                        [](ChannelEnd, const std::string&) {}});
  answering = &channel;
  std::string bytes;
  for (const uint32_t id : {1u, 2u, 3u}) {
    wire::encode(wire::FrameType::kProbe, 0, 0, id, "question", bytes);
  }
  REQUIRE(write_all(in->write.get(), bytes));
  wire::FrameReader reader;
  std::string packet;
  REQUIRE(run_until(loop, [&] {
    packet = packet_from(out->read.get());
    return !packet.empty();
  }));
  CHECK(frames == 3);
  std::string_view rest = packet;
  for (const uint32_t id : {1u, 2u, 3u}) {
    const auto frame = reader.next(rest);
    REQUIRE(frame);
    REQUIRE(*frame);
    CHECK((*frame)->id == id);
  }
  CHECK(packet_from(out->read.get()).empty());
}

TEST_CASE("what no frame can carry is said, and does not end the connection") {
  Loop loop;
  auto in = make_socketpair(SOCK_STREAM);
  auto out = make_socketpair(SOCK_SEQPACKET);
  REQUIRE(in);
  REQUIRE(out);
  AgentChannel channel(
      loop, in->read.get(), out->write.get(),
      {[](const wire::Frame&) {}, [](ChannelEnd, const std::string&) {}});
  channel.send(wire::FrameType::kFacts, 0, 7,
               std::string(wire::kMaxPayload + 1, 'x'));
  channel.send(wire::FrameType::kStopped, 0, 8, "");
  wire::FrameReader reader;
  std::string packet;
  REQUIRE(run_until(loop, [&] {
    packet = packet_from(out->read.get());
    return !packet.empty();
  }));
  std::string_view rest = packet;
  const auto told = reader.next(rest);
  REQUIRE(told);
  REQUIRE(*told);
  CHECK((*told)->type == wire::FrameType::kLog);
  CHECK((*told)->payload.find("left out 1048577 bytes") != std::string::npos);
  const auto next = reader.next(rest);
  REQUIRE(next);
  REQUIRE(*next);
  CHECK((*next)->id == 8);
}

TEST_CASE("a channel may go with words unsaid") {
  Loop loop;
  auto in = make_socketpair(SOCK_STREAM);
  auto out = make_socketpair(SOCK_SEQPACKET);
  REQUIRE(in);
  REQUIRE(out);
  {
    AgentChannel channel(
        loop, in->read.get(), out->write.get(),
        {[](const wire::Frame&) {}, [](ChannelEnd, const std::string&) {}});
    channel.send(wire::FrameType::kHeartbeat, 0, 0, "");
  }
  run_for(loop, Milliseconds{5});
  CHECK(packet_from(out->read.get()).empty());
}
