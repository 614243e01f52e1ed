// SPDX-License-Identifier: Apache-2.0
#include "base/accept_watch.h"

#include "base/loopback.h"
#include "catch.h"
#include "without_descriptors.h"

namespace muster {
namespace {

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
  CHECK(cpu_ms_without_descriptors(loop) < 200);
  CHECK(accepted == 0);
  end.start(Milliseconds{5000}, [&] { loop.stop(); });
  loop.run();
  CHECK(accepted == 1);
}

}  // namespace
}  // namespace muster
