// SPDX-License-Identifier: Apache-2.0
// What a process and its children use.
#include "worker/hang/rank_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"
#include "catch.h"

namespace muster {
namespace {

constexpr int64_t kBurnt = 100;  // milliseconds
constexpr size_t kRead = 1 << 20;

int64_t own_cpu_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

TEST_CASE("CPU time and bytes of a child count, while it runs and after") {
  auto ready = make_pipe();
  REQUIRE(ready);
  const ProcessUse before = use_of_tree(::getpid());
  REQUIRE(before.cpu_ms >= 0);
  REQUIRE(before.io_bytes >= 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGTERM, SIG_DFL);
    while (own_cpu_ms() < 2 * kBurnt) {
    }
    std::string bytes(kRead, ' ');
    const UniqueFd zero(::open("/dev/zero", O_RDONLY));
    if (::read(zero.get(), bytes.data(), bytes.size()) < 0) ::_exit(1);
    if (::write(ready->write.get(), "r", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready->read.get(), &byte, 1) == 1);
  const ProcessUse during = use_of_tree(::getpid());
  CHECK(during.cpu_ms >= before.cpu_ms + kBurnt);
  CHECK(during.io_bytes >= before.io_bytes + static_cast<int64_t>(kRead));
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(use_of_tree(::getpid()).cpu_ms >= before.cpu_ms + kBurnt);
}

TEST_CASE("of a process that is gone nothing is known") {
  const ProcessUse use = use_of_tree(999'999'999);
  CHECK(use.cpu_ms == -1);
  CHECK(use.io_bytes == -1);
}

}  // namespace
}  // namespace muster
