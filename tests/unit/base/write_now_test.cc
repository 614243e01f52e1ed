// SPDX-License-Identifier: Apache-2.0
#include "base/write_now.h"

#include "base/fd.h"
#include "catch.h"

using namespace muster;

TEST_CASE("a line is written whole, cut, or not at all, and never waits") {
  auto pipe = make_pipe();
  CHECK(write_now(pipe->write.get(), "one\n"));
  char bytes[8192];
  CHECK(::read(pipe->read.get(), bytes, sizeof bytes) == 4);

  CHECK(write_now(pipe->write.get(), std::string(3 * PIPE_BUF, 'x') + "\n"));
  REQUIRE(::read(pipe->read.get(), bytes, sizeof bytes) == PIPE_BUF);
  CHECK(bytes[PIPE_BUF - 1] == '\n');

  size_t written = 0;
  while (write_now(pipe->write.get(), "full\n")) written += 5;
  CHECK(written > PIPE_BUF);
  pipe->read.reset();
  CHECK_FALSE(write_now(pipe->write.get(), "nobody\n"));
  auto left = make_pipe();
  left->read.reset();
  CHECK_FALSE(write_now(left->write.get(), "nobody\n"));  // and no SIGPIPE
  CHECK_FALSE(write_now(-1, "nowhere\n"));
}
