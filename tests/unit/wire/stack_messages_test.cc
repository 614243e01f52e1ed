// SPDX-License-Identifier: Apache-2.0
// Where ranks are, however long the names of their functions.
#include "wire/stack_messages.h"

#include "catch.h"

namespace muster::wire {
namespace {

StackReply reply_of(int ranks, int frames, size_t name) {
  StackReply reply;
  for (int rank = 0; rank < ranks; ++rank) {
    RankStack stack;
    stack.rank = rank;
    stack.program = "app";
    for (int i = 0; i < frames; ++i) {
      stack.frames.push_back(std::to_string(i) + std::string(name, 'f'));
    }
    reply.ranks.push_back(std::move(stack));
  }
  return reply;
}

TEST_CASE("stacks there and back") {
  StackReply reply = reply_of(3, 64, 40);
  reply.addresses = {"10.0.0.1", "fd00::1"};
  reply.nccl = "Job summary\n";
  reply.flight = R"({"records":[]})";
  reply.ranks[1].cpu_ms = int64_t{1} << 40;
  reply.ranks[1].io_bytes = int64_t{1} << 50;
  reply.ranks[1].cpu_ms_after = int64_t{3} << 40;
  reply.ranks[1].io_bytes_after = int64_t{3} << 50;
  reply.ranks[1].mark = "7f";
  const auto back = stack_reply_from_json(to_json(reply));
  REQUIRE(back);
  CHECK(back->ranks[1].cpu_ms == int64_t{1} << 40);
  CHECK(back->ranks[1].io_bytes == int64_t{1} << 50);
  CHECK(back->ranks[1].cpu_ms_after == int64_t{3} << 40);
  CHECK(back->ranks[1].io_bytes_after == int64_t{3} << 50);
  CHECK(back->ranks[1].mark == "7f");
  // Of an agent that does not tell them.
  const auto older = stack_reply_from_json(R"({"ranks":[{"rank":1}]})");
  REQUIRE(older);
  CHECK(older->ranks[0].cpu_ms == -1);
  CHECK(older->ranks[0].io_bytes == -1);
  CHECK(older->ranks[0].mark.empty());
  CHECK(back->addresses == reply.addresses);
  CHECK(back->nccl == reply.nccl);
  CHECK(back->flight == reply.flight);
  CHECK_FALSE(stack_reply_from_json(R"({"ranks":[],"nccl":7})"));
  const auto asked =
      stack_request_from_json(to_json({{1, 4}, 10, 1, kFlightAsk}));
  REQUIRE(asked);
  CHECK(asked->nccl == 1);
  CHECK(asked->flight == kFlightAsk);
  REQUIRE(back->ranks.size() == 3);
  CHECK(back->ranks[2].rank == 2);
  CHECK(back->ranks[2].frames.size() == 64);
}

// More would end the connection, and the job with it.
TEST_CASE("the answer of many ranks with long names fits into a frame") {
  const std::string text = to_json(reply_of(64, 64, 3'000));
  CHECK(text.size() <= kMaxPayload);
  const auto back = stack_reply_from_json(text);
  REQUIRE(back);
  REQUIRE(back->ranks.size() == 64);
  for (const RankStack& rank : back->ranks) {
    REQUIRE(rank.frames.size() >= 4);
    CHECK(rank.frames[0].starts_with("0f"));  // the innermost stay
  }
}

}  // namespace
}  // namespace muster::wire
