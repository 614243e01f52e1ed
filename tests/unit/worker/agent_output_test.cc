// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "base/loop.h"
#include "catch.h"
#include "wire/frame.h"

using namespace muster;

TEST_CASE("a stream that lives from credit to credit is read at once") {
  // Each piece brings the credit for one more, as from a launcher that writes
  // it out and answers. No turn of the loop may wait for time to pass.
  constexpr size_t kPieces = 6;
  Loop loop;
  Timer guard(loop);
  auto pipe = make_pipe();
  REQUIRE(pipe);
  constexpr int kRoom = 1 << 20;
  REQUIRE(::fcntl(pipe->write.get(), F_SETPIPE_SZ, kRoom) >= kRoom);
  const std::string line(99, 'x');
  std::string text;
  while (text.size() < (kPieces + 2) * LineSplitter::kMaxPiece) {
    text += line + "\n";
  }
  REQUIRE(::write(pipe->write.get(), text.data(), text.size()) ==
          static_cast<ssize_t>(text.size()));

  size_t pieces = 0;
  int turns = 0;
  OutputStream* stream = nullptr;
  // Turns that have nothing to do but to look: a few microseconds each.
  constexpr int kTurns = 5;
  const std::function<void()> turn = [&] {
    if (pieces == kPieces || ++turns == kTurns) return loop.stop();
    loop.post(turn);
  };
  auto send = [&](wire::FrameType type, uint8_t, uint32_t, std::string_view) {
    if (type != wire::FrameType::kOutput) return;
    ++pieces;
    turns = 0;
    loop.post([&] { stream->add_credit(LineSplitter::kMaxPiece); });
  };
  OutputStream output(loop, send, 1, wire::kStdout, std::move(pipe->read), 1,
                      [] {});
  stream = &output;
  guard.start(Milliseconds(20000), [&] { loop.stop(); });
  loop.post(turn);
  loop.run();
  CHECK(pieces == kPieces);
}
