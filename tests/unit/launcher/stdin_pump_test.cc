// SPDX-License-Identifier: Apache-2.0
// Standard input from pipes, files and devices, no faster than it is taken.
#include "launcher/output/stdin_pump.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "catch.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::run_for;
using test::run_until;

// What each target got.
struct Targets {
  std::map<ProcessKey, std::string> got;
  std::map<ProcessKey, int> eof;
  StdinPump::Send send() {
    return [this](ProcessKey key, std::string_view bytes) {
      got[key].append(bytes);
    };
  }
  StdinPump::SendEof send_eof() {
    return [this](ProcessKey key) { ++eof[key]; };
  }
};

constexpr ProcessKey kFirst{1, 1};
constexpr ProcessKey kSecond{2, 1};

TEST_CASE("a pipe goes through, then its end, once") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Targets targets;
  StdinPump pump(loop, pipe->read.get(), targets.send(), targets.send_eof());
  pump.add_target(kFirst);
  pump.credit(kFirst, 1'000);
  REQUIRE(write_all(pipe->write.get(), "hello\n"));
  CHECK(run_until(loop, [&] { return targets.got[kFirst] == "hello\n"; }));
  pipe->write.reset();
  CHECK(run_until(loop, [&] { return targets.eof[kFirst] == 1; }));
  run_for(loop, 20ms);
  CHECK(targets.eof[kFirst] == 1);
}

TEST_CASE("nothing is read without credit, nor more than it") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Targets targets;
  StdinPump pump(loop, pipe->read.get(), targets.send(), targets.send_eof());
  pump.add_target(kFirst);
  REQUIRE(write_all(pipe->write.get(), "0123456789"));
  run_for(loop, 20ms);
  CHECK(targets.got[kFirst].empty());
  pump.credit(kFirst, 4);
  CHECK(run_until(loop, [&] { return targets.got[kFirst] == "0123"; }));
  run_for(loop, 20ms);
  CHECK(targets.got[kFirst] == "0123");
  CHECK(targets.eof[kFirst] == 0);
  pump.credit(kFirst, 100);
  CHECK(run_until(loop, [&] { return targets.got[kFirst] == "0123456789"; }));
}

TEST_CASE("the slowest of several sets the pace; one that left does not") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Targets targets;
  StdinPump pump(loop, pipe->read.get(), targets.send(), targets.send_eof());
  pump.add_target(kFirst);
  pump.add_target(kSecond);
  pump.credit(kFirst, 100);
  pump.credit(kSecond, 3);
  REQUIRE(write_all(pipe->write.get(), "0123456789"));
  CHECK(run_until(loop, [&] { return targets.got[kSecond] == "012"; }));
  run_for(loop, 20ms);
  CHECK(targets.got[kFirst] == "012");
  pump.remove_target(kSecond);
  CHECK(run_until(loop, [&] { return targets.got[kFirst] == "0123456789"; }));
  CHECK(targets.got[kSecond] == "012");
}

TEST_CASE("a target that joins without credit holds reading, and is no end") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Targets targets;
  StdinPump pump(loop, pipe->read.get(), targets.send(), targets.send_eof());
  pump.add_target(kFirst);
  pump.credit(kFirst, 100);
  pump.add_target(kSecond);
  REQUIRE(write_all(pipe->write.get(), "abc"));
  run_for(loop, 30ms);
  CHECK(targets.eof.empty());
  CHECK(targets.got[kFirst].empty());
  pump.credit(kSecond, 100);
  CHECK(run_until(loop, [&] { return targets.got[kSecond] == "abc"; }));
  CHECK(targets.got[kFirst] == "abc");
}

TEST_CASE("who comes after the end is told of it") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Targets targets;
  StdinPump pump(loop, pipe->read.get(), targets.send(), targets.send_eof());
  pump.add_target(kFirst);
  pump.credit(kFirst, 10);
  pipe->write.reset();
  CHECK(run_until(loop, [&] { return targets.eof[kFirst] == 1; }));
  pump.add_target(kSecond);
  CHECK(targets.eof[kSecond] == 1);
}

TEST_CASE("a file is read to its end") {
  const TemporaryDirectory directory;
  const std::string text(100'000, 'f');
  directory.write("in", text);
  const UniqueFd fd(::open(directory.at("in").c_str(), O_RDONLY | O_CLOEXEC));
  Loop loop;
  Targets targets;
  StdinPump pump(loop, fd.get(), targets.send(), targets.send_eof());
  pump.add_target(kFirst);
  pump.credit(kFirst, 1 << 20);
  CHECK(run_until(loop, [&] { return targets.eof[kFirst] == 1; }));
  CHECK(targets.got[kFirst] == text);
}

TEST_CASE("/dev/null is at its end, /dev/zero stops with the credit") {
  Loop loop;
  Targets targets;
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  StdinPump pump(loop, null.get(), targets.send(), targets.send_eof());
  pump.add_target(kFirst);
  pump.credit(kFirst, 10);
  CHECK(run_until(loop, [&] { return targets.eof[kFirst] == 1; }));
  const UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  StdinPump zeros(loop, zero.get(), targets.send(), targets.send_eof());
  zeros.add_target(kSecond);
  zeros.credit(kSecond, 100'000);
  CHECK(
      run_until(loop, [&] { return targets.got[kSecond].size() == 100'000; }));
  run_for(loop, 20ms);
  CHECK(targets.got[kSecond].size() == 100'000);
}

// What the pump in the background of a terminal got once it was in front; "?"
// if it was stopped before.
std::string typed_in_background(const char* terminal) {
  ::setsid();
  const UniqueFd tty(::open(terminal, O_RDWR | O_CLOEXEC));  // ours from now on
  auto pipe = make_pipe();
  const pid_t job = ::fork();
  if (job == 0) {
    ::setpgid(0, 0);
    Loop loop;
    Targets targets;
    StdinPump pump(loop, tty.get(), targets.send(), targets.send_eof());
    pump.add_target(kFirst);
    pump.credit(kFirst, 100);
    run_until(loop, [&] { return !targets.got[kFirst].empty(); });
    (void)write_all(pipe->write.get(), targets.got[kFirst]);
    ::_exit(0);
  }
  pipe->write.reset();
  ::setpgid(job, job);
  ::usleep(500'000);  // it may read meanwhile, and must not
  int status = 0;
  if (::waitpid(job, &status, WNOHANG | WUNTRACED) != 0) {
    ::kill(job, SIGKILL);
    return "?";
  }
  ::tcsetpgrp(tty.get(), job);
  char bytes[100];
  const ssize_t n = ::read(pipe->read.get(), bytes, sizeof bytes);
  return {bytes, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

TEST_CASE("in the background of a terminal it waits, and is not stopped") {
  const UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(::grantpt(master.get()) == 0);
  REQUIRE(::unlockpt(master.get()) == 0);
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t session = ::fork();
  if (session == 0) {
    ::alarm(20);
    (void)write_all(pipe->write.get(),
                    typed_in_background(::ptsname(master.get())));
    ::_exit(0);
  }
  pipe->write.reset();
  REQUIRE(write_all(master.get(), "typed\n"));
  char bytes[100];
  const ssize_t n = ::read(pipe->read.get(), bytes, sizeof bytes);
  ::waitpid(session, nullptr, 0);
  CHECK(std::string(bytes, static_cast<size_t>(std::max<ssize_t>(n, 0))) ==
        "typed\n");
}

TEST_CASE("a pump may go while a read is due") {
  Loop loop;
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Targets targets;
  {
    StdinPump pump(loop, null.get(), targets.send(), targets.send_eof());
    pump.add_target(kFirst);
    pump.credit(kFirst, 10);
  }
  run_for(loop, 20ms);
  CHECK(targets.eof.empty());
}

}  // namespace
}  // namespace muster
