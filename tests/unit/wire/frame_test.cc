// SPDX-License-Identifier: Apache-2.0
// The frame codec: every way to cut a stream, and streams that are not one.
#include "wire/frame.h"

#include <limits>

#include "catch.h"

namespace muster::wire {
namespace {

Frame frame_of(FrameType type, uint32_t id, std::string payload) {
  Frame frame;
  frame.type = type;
  frame.flags = kStderr | kEnd;
  frame.node = 513;
  frame.id = id;
  frame.payload = std::move(payload);
  return frame;
}

void check_equal(const Frame& seen, const Frame& sent) {
  CHECK(seen.type == sent.type);
  CHECK(seen.flags == sent.flags);
  CHECK(seen.node == sent.node);
  CHECK(seen.id == sent.id);
  CHECK(seen.payload == sent.payload);
}

std::string header(uint32_t length, uint8_t type) {
  std::string bytes;
  encode(static_cast<FrameType>(type), 0, 0, 0, {}, bytes);
  for (int i = 0; i < 4; ++i) {
    bytes[static_cast<size_t>(i)] =
        static_cast<char>(length >> (24 - 8 * i) & 0xff);
  }
  return bytes;
}

TEST_CASE("the header is what the comment says") {
  std::string bytes;
  encode(FrameType::kStart, 7, 0x0102, 0xfffefdfc, "xyz", bytes);
  CHECK(bytes == std::string("\0\0\0\3\10\7\1\2\377\376\375\374xyz", 15));
}

TEST_CASE("frames survive any cut of the stream") {
  const std::vector<Frame> sent = {
      frame_of(FrameType::kHello, 1, "{}"),
      frame_of(FrameType::kHeartbeat, 0, ""),
      frame_of(FrameType::kOutput, 0xffffffff, std::string("\0\xff\n", 3)),
  };
  std::string stream;
  for (const Frame& frame : sent) encode(frame, stream);
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    FrameReader reader;
    std::vector<Frame> seen;
    for (auto part : {std::string_view(stream).substr(0, cut),
                      std::string_view(stream).substr(cut)}) {
      for (;;) {
        Result<std::optional<Frame>> frame = reader.next(part);
        REQUIRE(frame);
        if (!*frame) break;
        seen.push_back(**frame);
      }
    }
    REQUIRE(seen.size() == sent.size());
    for (size_t i = 0; i < sent.size(); ++i) check_equal(seen[i], sent[i]);
  }
}

TEST_CASE("frames survive byte by byte") {
  std::string stream;
  const Frame sent = frame_of(FrameType::kLog, 3, std::string(5000, 'x'));
  encode(sent, stream);
  FrameReader reader;
  for (size_t i = 0; i + 1 < stream.size(); ++i) {
    std::string_view one = std::string_view(stream).substr(i, 1);
    Result<std::optional<Frame>> early = reader.next(one);
    REQUIRE(early);
    CHECK_FALSE(*early);
    CHECK(one.empty());
  }
  std::string_view last = std::string_view(stream).substr(stream.size() - 1);
  Result<std::optional<Frame>> frame = reader.next(last);
  REQUIRE(frame);
  REQUIRE(*frame);
  check_equal(**frame, sent);
}

TEST_CASE("a reader goes on after each frame") {
  FrameReader reader;
  std::string one;
  encode(frame_of(FrameType::kOutput, 1, std::string(3000, 'x')), one);
  for (int i = 0; i < 1000; ++i) {
    std::string_view bytes = one;
    Result<std::optional<Frame>> frame = reader.next(bytes);
    REQUIRE(frame);
    REQUIRE(*frame);
    CHECK((*frame)->payload.size() == 3000);
    CHECK(bytes.empty());
  }
}

TEST_CASE("the largest payload passes, one byte more does not") {
  std::string bytes;
  encode(frame_of(FrameType::kOutput, 1, std::string(kMaxPayload, 'x')), bytes);
  FrameReader reader;
  std::string_view rest = bytes;
  Result<std::optional<Frame>> frame = reader.next(rest);
  REQUIRE(frame);
  REQUIRE(*frame);
  CHECK((*frame)->payload.size() == kMaxPayload);

  FrameReader strict;
  const std::string large = header(static_cast<uint32_t>(kMaxPayload) + 1, 1);
  rest = large;
  REQUIRE_FALSE(strict.next(rest));
  CHECK(strict.next(rest).error().code == "protocol");
}

TEST_CASE("what is no frame is refused at the header") {
  for (const std::string& bytes :
       {header(0, 0), header(0, 32), header(0, 46), header(0, 255),
        header(std::numeric_limits<uint32_t>::max(), 1),
        std::string("bash: orted: command not found\n"),
        std::string("SSH-2.0-OpenSSH_9.2\r\n")}) {
    FrameReader reader;
    std::string_view rest = bytes;
    Result<std::optional<Frame>> frame = reader.next(rest);
    REQUIRE_FALSE(frame);
    CHECK(frame.error().code == "protocol");
    CHECK(reader.refused() == bytes);
    CHECK_FALSE(reader.next(rest));  // the error is final
  }
}

TEST_CASE("output and number payloads") {
  const std::string payload = output_payload(-5, "line\n");
  const auto view = parse_output(payload);
  REQUIRE(view);
  CHECK(view->time_ns == -5);
  CHECK(view->bytes == "line\n");
  CHECK_FALSE(parse_output("1234567"));
  CHECK(parse_output(output_payload(0, ""))->bytes.empty());
  CHECK(parse_u32(u32_payload(0xdeadbeef)) == 0xdeadbeef);
  CHECK_FALSE(parse_u32("123"));
  CHECK_FALSE(parse_u32("12345"));
}

}  // namespace
}  // namespace muster::wire
