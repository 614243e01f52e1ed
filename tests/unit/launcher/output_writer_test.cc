// SPDX-License-Identifier: Apache-2.0
// Readers that are slow, stopped, full or gone; and the thread's end.
#include "launcher/output/output_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/fd.h"
#include "catch.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::run_until;

std::string read_all(int fd) {
  std::string out;
  char buffer[65536];
  ssize_t n = 0;
  while ((n = ::read(fd, buffer, sizeof buffer)) > 0) {
    out.append(buffer, static_cast<size_t>(n));
  }
  return out;
}

struct Broken {
  int fd = -1;
  int error = 0;
  int count = 0;
};

auto note(Broken& broken) {
  return [&broken](int fd, int error) {
    broken = {fd, error, broken.count + 1};
  };
}

TEST_CASE("bytes leave in order, and each write is told") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Broken broken;
  int done = 0;
  {
    OutputWriter writer(loop, note(broken));
    for (int i = 0; i < 100; ++i) {
      writer.write(pipe->write.get(), std::to_string(i) + "\n",
                   [&done] { ++done; });
    }
    CHECK(writer.drain(10s));
    CHECK(done == 0);                              // never within a call
    writer.write(pipe->write.get(), {}, nullptr);  // few bytes wait for it
    CHECK(run_until(loop, [&] { return done == 100; }));
    CHECK(writer.drain(1s));
    CHECK(writer.waiting_bytes() == 0);
    CHECK(writer.stalled() == 0ms);
    CHECK(writer.dropped_bytes() == 0);
  }
  pipe->write.reset();
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += std::to_string(i) + "\n";
  CHECK(read_all(pipe->read.get()) == expected);
  CHECK(broken.count == 0);
}

TEST_CASE("a line is told with the next at the latest, 4 KiB without one") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Broken broken;
  int done = 0;
  int settled = 0;
  OutputWriter writer(loop, note(broken), [&settled] { ++settled; });
  const auto count = [&done] { ++done; };
  writer.write(pipe->write.get(), std::string(4'095, 'x'), count);
  test::run_for(loop, 20ms);
  CHECK(writer.drain(10s));
  test::run_for(loop, 20ms);
  writer.write(pipe->write.get(), "y", count);
  CHECK(run_until(loop, [&] { return done >= 1; }));
  CHECK(settled >= 1);
  writer.write(pipe->write.get(), std::string(4'096, 'x'), count);
  CHECK(run_until(loop, [&] { return done == 3; }));
  CHECK(settled <= done);
}

TEST_CASE("a slow reader gets everything, the loop never waits for it") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Broken broken;
  const std::string big(300'000, 'x');  // several times a pipe's buffer
  bool done = false;
  size_t got = 0;
  OutputWriter writer(loop, note(broken));
  writer.write(pipe->write.get(), big, [&done] { done = true; });
  FdWatch watch(loop, pipe->read.get());
  watch.on_readable([&] {
    char buffer[7'000];
    const ssize_t n = ::read(pipe->read.get(), buffer, sizeof buffer);
    if (n > 0) got += static_cast<size_t>(n);
  });
  CHECK(run_until(loop, [&] { return done && got == big.size(); }));
  CHECK(writer.dropped_bytes() == 0);
}

TEST_CASE("a non-blocking descriptor is waited out") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  set_nonblocking(pipe->write.get());
  Broken broken;
  OutputWriter writer(loop, note(broken));
  writer.write(pipe->write.get(), std::string(200'000, 'x'), {});
  writer.write(pipe->write.get(), "end", {});
  std::thread reader([fd = pipe->read.get()] {
    size_t got = 0;
    char buffer[4096];
    while (got < 200'003) {
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n <= 0) break;
      got += static_cast<size_t>(n);
    }
  });
  CHECK(writer.drain(10s));
  reader.join();
  CHECK(broken.count == 0);
}

TEST_CASE("a stopped reader is seen as stalled, and drain gives up") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Broken broken;
  OutputWriter writer(loop, note(broken));
  writer.write(pipe->write.get(), std::string(200'000, 'x'), {});
  const auto before = Clock::now();
  CHECK_FALSE(writer.drain(100ms));
  CHECK(Clock::now() - before < 5s);
  CHECK(writer.stalled() >= 100ms);
  CHECK(writer.waiting_bytes() == 200'000);
  read_all((set_nonblocking(pipe->read.get()), pipe->read.get()));
  // The thread must end before the pipe does.
  while (!writer.drain(10ms)) read_all(pipe->read.get());
}

TEST_CASE("a reader that went away is told once; the rest is counted") {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  Loop loop;
  auto gone = make_pipe();
  auto fine = make_pipe();
  REQUIRE((gone && fine));
  gone->read.reset();
  Broken broken;
  int done = 0;
  {
    OutputWriter writer(loop, note(broken));
    writer.write(gone->write.get(), "12345", [&done] { ++done; });
    writer.write(gone->write.get(), "678", [&done] { ++done; });
    writer.write(fine->write.get(), "ok", [&done] { ++done; });
    CHECK(writer.drain(10s));
    writer.write(fine->write.get(), {}, nullptr);
    CHECK(run_until(loop, [&] { return done == 3 && broken.count > 0; }));
    CHECK(writer.dropped_bytes() == 8);
  }
  CHECK(broken.fd == gone->write.get());
  CHECK(broken.error == EPIPE);
  CHECK(broken.count == 1);
  fine->write.reset();
  CHECK(read_all(fine->read.get()) == "ok");
  ::signal(SIGPIPE, before);
}

TEST_CASE("a full disk is an error of that descriptor only") {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full) return;  // not in every container
  Loop loop;
  Broken broken;
  OutputWriter writer(loop, note(broken));
  writer.write(full.get(), "x", {});
  CHECK(run_until(loop, [&] { return broken.count == 1; }));
  CHECK(broken.error == ENOSPC);
}

TEST_CASE("what is queued behind a stuck write is abandoned at the end") {
  Loop loop;
  auto stuck = make_pipe();
  auto other = make_pipe();
  REQUIRE((stuck && other));
  Broken broken;
  bool done = false;
  {
    OutputWriter writer(loop, note(broken));
    writer.write(stuck->write.get(), std::string(200'000, 'x'),
                 [&done] { done = true; });
    writer.write(other->write.get(), "late", [&done] { done = true; });
    CHECK_FALSE(writer.drain(50ms));
  }
  // The owner may close, and reuse, every descriptor but the one in use.
  size_t got = 0;
  char buffer[65536];
  while (got < 200'000) {
    const ssize_t n = ::read(stuck->read.get(), buffer, sizeof buffer);
    REQUIRE(n > 0);
    got += static_cast<size_t>(n);
  }
  set_nonblocking(other->read.get());
  std::this_thread::sleep_for(100ms);
  CHECK(read_all(other->read.get()).empty());
  test::run_for(loop, 20ms);
  CHECK_FALSE(done);
}

}  // namespace
}  // namespace muster
