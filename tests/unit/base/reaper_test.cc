// SPDX-License-Identifier: Apache-2.0
// Every child is reaped: watched, forgotten, adopted.
#include "base/reaper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "base/spawn.h"
#include "catch.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

pid_t start(const std::string& script) {
  SpawnOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.env = {{"PATH", "/usr/bin:/bin"}};
  const auto pid = spawn(options);
  REQUIRE(pid);
  return *pid;
}

class Fixture {
 public:
  Fixture() {
    ::sigprocmask(SIG_SETMASK, nullptr, &before_);
    guard_.start(10s, [this] {
      late_ = true;
      loop.stop();
    });
  }
  ~Fixture() {
    CHECK_FALSE(late_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Loop loop;

 private:
  sigset_t before_{};
  bool late_ = false;
  Timer guard_{loop};
};

TEST_CASE_METHOD(Fixture, "exit statuses reach whoever asked") {
  Reaper reaper(loop);
  std::map<pid_t, int> seen;
  const auto note = [&](const ChildExit& exit) {
    seen[exit.pid] = exit.wait_status;
    if (seen.size() == 3) loop.stop();
  };
  const pid_t a = start("exit 7");
  const pid_t b = start("kill -9 $$");
  const pid_t c = start("exit 0");
  for (const pid_t pid : {a, b, c}) reaper.watch(pid, note);
  loop.run();
  CHECK(WEXITSTATUS(seen[a]) == 7);
  CHECK(WTERMSIG(seen[b]) == SIGKILL);
  CHECK(seen[c] == 0);
}

TEST_CASE_METHOD(Fixture, "a child that ended before the reaper came") {
  const pid_t pid = start("exit 3");
  ::usleep(50'000);
  Reaper reaper(loop);
  int status = -1;
  reaper.watch(pid, [&](const ChildExit& exit) {
    status = exit.wait_status;
    loop.stop();
  });
  loop.run();
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE_METHOD(Fixture, "adopted orphans are reaped") {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Reaper reaper(loop);
  const pid_t pid = start("sleep 0.1 & exit 0");
  bool adopted = false;
  Timer look(loop);
  std::function<void()> until_none_is_left = [&] {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
      return loop.stop();
    }
    look.start(10ms, until_none_is_left);
  };
  reaper.watch(pid, [&](const ChildExit&) {
    siginfo_t info{};
    adopted = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    until_none_is_left();
  });
  loop.run();
  CHECK(adopted);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE_METHOD(Fixture, "forgotten children are reaped all the same") {
  Reaper reaper(loop);
  const pid_t forgotten = start("exit 1");
  reaper.watch(forgotten, [](const ChildExit&) { FAIL("was forgotten"); });
  reaper.forget(forgotten);
  const pid_t last = start("sleep 0.1");
  reaper.watch(last, [&](const ChildExit&) { loop.stop(); });
  loop.run();
  CHECK(::waitpid(forgotten, nullptr, WNOHANG) < 0);
}

TEST_CASE_METHOD(Fixture, "a handler may start and watch the next child") {
  Reaper reaper(loop);
  int generations = 0;
  std::function<void(const ChildExit&)> next = [&](const ChildExit&) {
    if (++generations == 3) return loop.stop();
    reaper.watch(start("exit 0"), next);
  };
  reaper.watch(start("exit 0"), next);
  loop.run();
  CHECK(generations == 3);
}

}  // namespace
}  // namespace muster
