// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/metrics_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include "../base/without_descriptors.h"
#include "base/loopback.h"
#include "catch.h"

namespace muster {
namespace {

TEST_CASE("without descriptors metrics wait, at no cost, and come then") {
  Loop loop;
  MetricsServer server(loop, [] { return "up 1\n"; });
  REQUIRE(server.listen(0));
  const UniqueFd guest = connect_to_loopback(server.port());
  REQUIRE(guest);
  CHECK(cpu_ms_without_descriptors(loop) < 200);
  set_nonblocking(guest.get());
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.0\r\n\r\n";
  REQUIRE(::send(guest.get(), kRequest.data(), kRequest.size(), 0) ==
          static_cast<ssize_t>(kRequest.size()));
  std::string answer;
  FdWatch watch(loop, guest.get());
  watch.on_readable([&] {
    char bytes[256];
    const ssize_t n = ::read(guest.get(), bytes, sizeof bytes);
    if (n <= 0) return loop.stop();
    answer.append(bytes, static_cast<size_t>(n));
  });
  Timer end(loop);
  end.start(Milliseconds{5000}, [&] { loop.stop(); });
  loop.run();
  CHECK(answer.starts_with("HTTP/1.0 200 OK"));
  CHECK(answer.ends_with("up 1\n"));
}

}  // namespace
}  // namespace muster
