// SPDX-License-Identifier: Apache-2.0
// Helpers with real processes: their answer, and that none outlives its time.
#include "worker/base/agent_helper.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "catch.h"

namespace muster {
namespace {

bool run_until(Loop& loop, const std::function<bool()>& done) {
  const auto end = Clock::now() + std::chrono::seconds(20);
  Timer tick(loop);
  std::function<void()> look = [&] {
    if (done() || Clock::now() > end) return loop.stop();
    tick.start(Milliseconds{5}, look);
  };
  loop.post(look);
  loop.run();
  return done();
}

// What a child tells while it runs.
class Shared {
 public:
  Shared()
      : pid_(static_cast<std::atomic<pid_t>*>(
            ::mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Shared() { ::munmap(pid_, sizeof *pid_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::atomic<pid_t>& pid() { return *pid_; }

 private:
  std::atomic<pid_t>* pid_;
};

TEST_CASE("a helper's answer comes whole") {
  Loop loop;
  Reaper reaper(loop);
  std::optional<std::string> answer;
  const std::string text(300'000, 'x');
  AgentHelper helper(
      loop, reaper, [&] { return text; }, Milliseconds{20'000},
      [&](std::optional<std::string> got) { answer = std::move(got); });
  REQUIRE(run_until(loop, [&] { return answer.has_value(); }));
  CHECK(*answer == text);
}

// Its owner may keep it for as long as a pod lives.
TEST_CASE("a helper that is too slow is gone once that is told") {
  Loop loop;
  Reaper reaper(loop);
  Shared shared;
  bool told = false;
  AgentHelper helper(
      loop, reaper,
      [&] {
        shared.pid() = ::getpid();
        ::sleep(60);
        return std::string("late");
      },
      Milliseconds{300},
      [&](const std::optional<std::string>& answer) {
        told = true;
        CHECK_FALSE(answer);
      });
  REQUIRE(run_until(loop, [&] { return told; }));
  const pid_t pid = shared.pid();
  REQUIRE(pid > 0);
  CHECK(run_until(loop, [&] { return ::kill(pid, 0) != 0; }));
  ::kill(pid, SIGKILL);
}

}  // namespace
}  // namespace muster
