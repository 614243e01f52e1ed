// SPDX-License-Identifier: Apache-2.0
// A node's side of the star: pieces, replies, and what does not belong.
#include "pmi/modex_client.h"

#include "catch.h"

using namespace muster;
using wire::FrameType;

namespace {

struct Wire {
  std::vector<wire::Frame> sent;
  ModexClient client{[this](FrameType type, uint8_t flags, uint32_t id,
                            std::string_view payload) {
    sent.push_back({type, flags, 1, id, std::string(payload)});
  }};
  bool receive(FrameType type, uint32_t id, std::string payload) {
    return client.frame({type, 0, 1, id, std::move(payload)});
  }
};

}  // namespace

TEST_CASE("a fence goes out in pieces and comes back in pieces") {
  Wire wire_;
  const std::string data(wire::kModexPiece * 2 + 5, 'x');
  std::string result;
  wire_.client.fence("pmix:*", data, [&](Result<std::string> all) {
    REQUIRE(all);
    result = *all;
  });
  REQUIRE(wire_.sent.size() == 4);
  const auto call =
      wire::modex_from_json<wire::FenceCall>(wire_.sent[0].payload);
  REQUIRE(call);
  CHECK(call->sequence == 0);
  CHECK(call->size == data.size());
  for (size_t i = 1; i < 4; ++i) {
    CHECK(wire_.sent[i].payload.size() <= wire::kModexPiece);
  }
  const uint32_t id = wire_.sent[0].id;
  CHECK(wire_.receive(FrameType::kModexReply, id,
                      wire::to_json(wire::ModexReply{"", 4})));
  wire_.receive(FrameType::kModexData, id, "ab");
  CHECK(result.empty());
  wire_.receive(FrameType::kModexData, id, "cd");
  CHECK(result == "abcd");
}

TEST_CASE("each kind of fence counts for itself") {
  Wire wire_;
  for (const char* who : {"pmix:*", "pmix:0-1", "pmix:*"}) {
    wire_.client.fence(who, "", [](const auto&) {});
  }
  std::vector<uint32_t> sequences;
  for (const auto& frame : wire_.sent) {
    sequences.push_back(
        wire::modex_from_json<wire::FenceCall>(frame.payload)->sequence);
  }
  CHECK(sequences == std::vector<uint32_t>{0, 0, 1});
}

TEST_CASE("errors and surplus bytes end a call, once") {
  Wire wire_;
  int failures = 0;
  const auto count = [&](const Result<std::string>& all) {
    failures += all ? 0 : 1;
  };
  for (int i = 0; i < 3; ++i) wire_.client.get(i, count);
  wire_.receive(FrameType::kModexReply, 1,
                wire::to_json(wire::ModexReply{"gone", 0}));
  wire_.receive(FrameType::kModexReply, 2,
                wire::to_json(wire::ModexReply{"", 1}));
  wire_.receive(FrameType::kModexData, 2, "too much");
  CHECK(failures == 2);
  wire_.receive(FrameType::kModexData, 2, "late");
  CHECK(failures == 2);
}

TEST_CASE("a get of another node is served") {
  Wire wire_;
  wire_.client.set_serve_get([](int rank, ModexClient::Data answer) {
    answer("blob of " + std::to_string(rank));
  });
  wire_.receive(FrameType::kModexGet, wire::kLauncherModexIds,
                wire::to_json(wire::ModexGet{5}));
  REQUIRE(wire_.sent.size() == 2);
  CHECK(wire_.sent[1].payload == "blob of 5");
  CHECK_FALSE(wire_.receive(FrameType::kStart, 1, ""));
}

TEST_CASE("names that no frame holds are refused, not left without an answer") {
  Wire wire_;
  wire::NamesRequest request;
  request.operation = "publish";
  request.keys = {"k"};
  request.values = {std::string(wire::kMaxPayload, 'v')};
  std::string error;
  wire_.client.names(
      request, [&](const wire::NamesReply& reply) { error = reply.error; });
  CHECK(error == "full");
  CHECK(wire_.sent.empty());
  request.values = {"v"};
  wire_.client.names(request, [](const wire::NamesReply&) {});
  CHECK(wire_.sent.size() == 1);
}
