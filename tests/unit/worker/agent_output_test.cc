// SPDX-License-Identifier: Apache-2.0
#include "worker/processes/agent_output.h"

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
  while (text.size() < (kPieces + 2) * LineBuffer::kMaxPiece) {
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
    loop.post([&] { stream->add_credit(LineBuffer::kMaxPiece); });
  };
  OutputStream output(loop, send, 1, wire::kStdout, std::move(pipe->read), 1,
                      Milliseconds{1000}, [] {});
  stream = &output;
  guard.start(Milliseconds(20000), [&] { loop.stop(); });
  loop.post(turn);
  loop.run();
  CHECK(pieces == kPieces);
}

TEST_CASE("a bar that moves all the time is told while it moves") {
  Loop loop;
  Timer guard(loop);
  Timer tick(loop);
  auto pipe = make_pipe();
  REQUIRE(pipe);
  std::string told;
  auto send = [&](wire::FrameType type, uint8_t, uint32_t,
                  std::string_view payload) {
    const auto output = wire::parse_output(payload);
    if (type != wire::FrameType::kOutput || !output) return;
    told += output->bytes;
    loop.stop();
  };
  OutputStream output(loop, send, 1, wire::kStderr, std::move(pipe->read),
                      1 << 16, Milliseconds{1000}, [] {});
  const std::function<void()> move = [&] {
    CHECK(::write(pipe->write.get(), "\r 12 %", 6) == 6);
    tick.start(Milliseconds(50), move);
  };
  move();
  guard.start(Milliseconds(10000), [&] { loop.stop(); });
  loop.run();
  CHECK(told.starts_with("\r 12 %\r 12 %"));
}

// As a rank does that prints blocks of its stdio, which end anywhere.
TEST_CASE("lines that follow each other all the time are not cut") {
  Loop loop;
  Timer guard(loop);
  Timer tick(loop);
  auto pipe = make_pipe();
  REQUIRE(pipe);
  int cut = 0;
  auto send = [&](wire::FrameType type, uint8_t, uint32_t,
                  std::string_view payload) {
    const auto output = wire::parse_output(payload);
    if (type == wire::FrameType::kOutput && output &&
        !output->bytes.ends_with('\n')) {
      ++cut;
    }
  };
  OutputStream output(loop, send, 1, wire::kStdout, std::move(pipe->read),
                      1 << 16, Milliseconds{1000}, [] {});
  const std::function<void()> print = [&] {
    CHECK(::write(pipe->write.get(), "end\nbegin ", 10) == 10);
    tick.start(Milliseconds(50), print);
  };
  print();
  guard.start(Milliseconds(2500), [&] { loop.stop(); });
  loop.run();
  CHECK(cut == 0);
}

TEST_CASE("a full pipe without credit comes to its end with the process") {
  Loop loop;
  Timer guard(loop);
  auto pipe = make_pipe();
  REQUIRE(pipe);
  set_nonblocking(pipe->write.get());
  const std::string block(4096, 'x');
  size_t written = 0;
  for (ssize_t n = 0;
       (n = ::write(pipe->write.get(), block.data(), block.size())) > 0;) {
    written += static_cast<size_t>(n);
  }
  pipe->write.reset();
  size_t told = 0;
  bool ended = false;
  auto send = [&](wire::FrameType, uint8_t, uint32_t,
                  std::string_view payload) {
    if (const auto output = wire::parse_output(payload)) {
      told += output->bytes.size();
    }
  };
  OutputStream output(loop, send, 1, wire::kStdout, std::move(pipe->read), 0,
                      Milliseconds{1000}, [&] {
                        ended = true;
                        loop.stop();
                      });
  output.process_exited();
  guard.start(Milliseconds(20000), [&] { loop.stop(); });
  loop.run();
  CHECK(ended);
  CHECK(told == written);
}
