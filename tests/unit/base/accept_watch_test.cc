// SPDX-License-Identifier: Apache-2.0
#include "base/accept_watch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/loopback.h"
#include "catch.h"

namespace muster {
namespace {

int64_t cpu_ms() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
}

TEST_CASE("a listener without descriptors does not spin, and recovers") {
  Loop loop;
  auto listener = listen_on_loopback();
  REQUIRE(listener);
  int accepted = 0;
  AcceptWatch watch(loop, listener->socket.get(), [&](const UniqueFd&) {
    ++accepted;
    loop.stop();
  });
  Timer end(loop);
  const UniqueFd guest = connect_to_loopback(listener->port);
  REQUIRE(guest);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 3;  // all above are open already
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  end.start(Milliseconds{500}, [&] { loop.stop(); });
  const int64_t start = cpu_ms();
  loop.run();
  const int64_t used = cpu_ms() - start;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(accepted == 0);
  CHECK(used < 200);
  end.start(Milliseconds{5000}, [&] { loop.stop(); });
  loop.run();
  CHECK(accepted == 1);
}

}  // namespace
}  // namespace muster
