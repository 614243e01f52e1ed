// SPDX-License-Identifier: Apache-2.0
// Gets of one node and the answers of another, in the middle between them.
#include "launcher/start/direct_gets.h"

#include <map>
#include <string>
#include <vector>

#include "catch.h"
#include "launcher/connect/transport.h"
#include "wire/modex_messages.h"

using namespace muster;
using wire::FrameType;

namespace {

struct Middle {
  struct Sent {
    int node;
    FrameType type;
    uint32_t id;
    std::string payload;
  };

  void ask(int asker, uint32_t id, int owner, Clock::time_point since = {}) {
    DirectGets::Get get;
    get.asker = asker;
    get.id = id;
    get.owner = owner;
    get.rank = owner;
    get.since = since;
    gets.ask(get);
  }
  // What `node` answers to the get that it was asked under `id`.
  void announce(uint32_t id, uint64_t size, int node = 2) {
    gets.replied(node, frame(FrameType::kModexReply, id,
                             wire::to_json(wire::ModexReply{{}, size})));
  }
  void answer(uint32_t id, const std::string& data, int node = 2) {
    announce(id, data.size(), node);
    gets.data(node, frame(FrameType::kModexData, id, data));
  }
  static wire::Frame frame(FrameType type, uint32_t id, std::string payload) {
    wire::Frame out;
    out.type = type;
    out.id = id;
    out.payload = std::move(payload);
    return out;
  }
  [[nodiscard]] size_t asked_of(int node) const {
    size_t out = 0;
    for (const Sent& one : sent) {
      out += one.node == node && one.type == FrameType::kModexGet ? 1 : 0;
    }
    return out;
  }

  std::vector<Sent> sent;
  std::map<int, size_t> queued;
  DirectGets gets{
      [this](int node, FrameType type, uint32_t id, std::string_view payload) {
        sent.push_back({node, type, id, std::string(payload)});
      },
      [this](int node) { return queued[node]; }};
};

}  // namespace

TEST_CASE("a get goes to the rank's node, its answer to who asked") {
  Middle middle;
  middle.ask(1, 7, 2);
  REQUIRE(middle.sent.size() == 1);
  CHECK(middle.sent[0].node == 2);
  CHECK(middle.sent[0].id >= wire::kLauncherModexIds);
  middle.answer(middle.sent[0].id, "abc");
  REQUIRE(middle.sent.size() == 3);
  CHECK(middle.sent[1].type == FrameType::kModexReply);
  CHECK(middle.sent[2].payload == "abc");
  CHECK(middle.sent[2].node == 1);
  CHECK(middle.sent[2].id == 7);
  middle.answer(middle.sent[0].id, "again");  // nobody waits any more
  CHECK(middle.sent.size() == 3);
}

TEST_CASE("only who was asked answers, once, and no more than announced") {
  Middle middle;
  middle.ask(1, 7, 2);
  const uint32_t id = middle.sent[0].id;
  middle.answer(id, "of another node", 3);
  CHECK(middle.sent.size() == 1);
  middle.announce(id, 4);
  middle.announce(id, 99);
  middle.gets.data(2, Middle::frame(FrameType::kModexData, id, "abcdef"));
  REQUIRE(middle.sent.size() == 3);
  CHECK(middle.sent[2].payload == "abcd");
}

TEST_CASE("nothing more is asked for a node that does not read") {
  Middle middle;
  middle.queued[1] = kQueueMark;
  for (uint32_t id = 0; id < 1000; ++id) middle.ask(1, id, 2);
  CHECK(middle.asked_of(2) == 0);
  middle.ask(3, 1, 2);  // another node's
  CHECK(middle.asked_of(2) == 1);
  middle.queued[1] = 0;
  middle.gets.go_on(1);
  CHECK(middle.asked_of(2) == 1001);
}

TEST_CASE("a get that nobody answers is given up, sent on or not") {
  Middle middle;
  const Clock::time_point now = Clock::now();
  middle.ask(1, 7, 2, now - Milliseconds(20));
  middle.queued[1] = kQueueMark;
  middle.ask(1, 8, 2, now - Milliseconds(20));
  middle.ask(1, 9, 2, now);
  const auto late = middle.gets.expire(now - Milliseconds(10));
  REQUIRE(late.size() == 2);
  CHECK(late[0].id == 7);
  CHECK(late[0].sent);
  CHECK(late[1].id == 8);
  CHECK_FALSE(late[1].sent);
  middle.answer(middle.sent[0].id, "too late");
  CHECK(middle.sent.size() == 1);
  middle.queued[1] = 0;
  middle.gets.go_on(1);
  CHECK(middle.sent.size() == 2);
}
