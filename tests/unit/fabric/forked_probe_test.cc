// SPDX-License-Identifier: Apache-2.0
// Children that ask foreign libraries: how they ended is told apart, a slow
// one gets its time, and none is waited for without end.
#include "fabric/collect/forked_probe.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "catch.h"

using namespace muster;

namespace {

using End = ForkedResult::End;

void sleep_ms(int64_t ms) {
  timespec left{ms / 1000, ms % 1000 * 1'000'000};
  while (::nanosleep(&left, &left) != 0) {
  }
}

int64_t cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

TEST_CASE("a probe that finishes gives its whole lines") {
  const auto result = probe_in_child({}, [](int out) {
    probe_says(out, "one");
    probe_says(out, "two");
    static_cast<void>(::write(out, "half", 4));
  });
  CHECK(result.end == End::kFinished);
  CHECK(result.text == "one\ntwo\n");
}

TEST_CASE("a probe that dies is told from one that does not answer") {
  const auto dead = probe_in_child({}, [](int out) {
    probe_says(out, "begin");
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  });
  CHECK(dead.end == End::kDied);
  CHECK(dead.signal == SIGSEGV);
  CHECK(probe_failure_text(dead) == "died here (signal 11)");

  const auto gone = probe_in_child({}, [](int) { ::_exit(3); });
  CHECK(gone.end == End::kDied);
  CHECK(probe_failure_text(gone) == "died here");

  const auto still = probe_in_child({400, 10'000}, [](int out) {
    probe_says(out, "begin");
    sleep_ms(100'000);
  });
  CHECK(still.end == End::kGivenUp);
  CHECK(still.text == "begin\n");
  CHECK(probe_failure_text(still).find("did not answer within ") == 0);
}

TEST_CASE("a slow probe gets its time while it writes or works") {
  const auto writes = probe_in_child({1500, 100'000}, [](int out) {
    for (int i = 0; i < 4; ++i) {
      sleep_ms(500);
      probe_says(out, "step");
    }
  });
  CHECK(writes.end == End::kFinished);
  const auto works = probe_in_child({1000, 100'000}, [](int out) {
    while (cpu_ms() < 1300) {
    }
    probe_says(out, "done");
  });
  CHECK(works.end == End::kFinished);
  CHECK(works.text == "done\n");
}

TEST_CASE("a probe that works for ever is given up, and one that hides too") {
  const auto spins = probe_in_child({300, 900}, [](int) {
    for (;;) static_cast<void>(cpu_ms());
  });
  CHECK(spins.end == End::kGivenUp);
  const auto hides = probe_in_child({}, [](int out) {
    probe_says(out, "said");
    ::close(out);
    sleep_ms(100'000);
  });
  CHECK(hides.text == "said\n");
  CHECK(hides.end == End::kDied);
}

TEST_CASE("a probe that has begun goes on beside others") {
  auto pipe = make_pipe().value();
  ForkedProbe first([&](int out) {
    char byte = 0;
    if (::read(pipe.read.get(), &byte, 1) == 1) probe_says(out, "first");
  });
  const auto second = probe_in_child({}, [&](int out) {
    static_cast<void>(::write(pipe.write.get(), "x", 1));
    probe_says(out, "second");
  });
  CHECK(second.text == "second\n");
  const auto result = first.finish({});
  CHECK(result.end == End::kFinished);
  CHECK(result.text == "first\n");
  CHECK(first.finish({}).end == End::kDied);  // once
}

TEST_CASE("a probe that nobody waits for is ended") {
  auto pipe = make_pipe().value();
  pid_t pid = 0;
  {
    const ForkedProbe probe([&](int) {
      const pid_t own = ::getpid();
      static_cast<void>(::write(pipe.write.get(), &own, sizeof own));
      sleep_ms(100'000);
    });
    REQUIRE(::read(pipe.read.get(), &pid, sizeof pid) == sizeof pid);
    CHECK(::kill(pid, 0) == 0);
  }
  CHECK(::kill(pid, 0) != 0);
}
