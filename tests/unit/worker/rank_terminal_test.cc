// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/rank_terminal.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "catch.h"

using namespace muster;

namespace {

std::string read_once(int fd) {
  char bytes[64];
  const ssize_t n = ::read(fd, bytes, sizeof bytes);
  return n < 0 ? "an error" : std::string(bytes, static_cast<size_t>(n));
}

}  // namespace

TEST_CASE("a rank's output is a terminal where its launcher gave it one") {
  UniqueFd other_end(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(other_end);
  REQUIRE(::unlockpt(other_end.get()) == 0);
  UniqueFd model(::open(::ptsname(other_end.get()), O_RDWR | O_NOCTTY));
  REQUIRE(model);
  termios settings{};
  REQUIRE(::tcgetattr(model.get(), &settings) == 0);
  settings.c_oflag &= ~static_cast<tcflag_t>(ONLCR);  // as Open MPI has it
  REQUIRE(::tcsetattr(model.get(), TCSANOW, &settings) == 0);

  auto output = make_output_like(model.get());
  REQUIRE(output);
  CHECK(::isatty(output->write.get()) == 1);
  REQUIRE(::write(output->write.get(), "a\nb", 3) == 3);
  CHECK(read_once(output->read.get()) == "a\nb");
  output->write.reset();
  errno = 0;
  CHECK(read_once(output->read.get()) == "an error");
  CHECK(errno == EIO);
}

TEST_CASE("a rank's output is a pipe where its launcher gave it no terminal") {
  auto model = make_pipe();
  REQUIRE(model);
  auto output = make_output_like(model->write.get());
  REQUIRE(output);
  CHECK(::isatty(output->write.get()) == 0);
  REQUIRE(::write(output->write.get(), "a\n", 2) == 2);
  CHECK(read_once(output->read.get()) == "a\n");
  output->write.reset();
  CHECK(read_once(output->read.get()).empty());
}
