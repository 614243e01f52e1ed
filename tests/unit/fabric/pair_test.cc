// SPDX-License-Identifier: Apache-2.0
// check and bench of a pair over loopback, and the ways they fail.
#include "fabric/prove/pair_test.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/fd.h"
#include "catch.h"

using namespace muster;

namespace {

PairRequest to(int port, int timeout_ms, int megabytes) {
  PairRequest request;
  request.peer = "127.0.0.1:" + std::to_string(port);
  request.timeout_ms = timeout_ms;
  request.megabytes = megabytes;
  return request;
}

}  // namespace

TEST_CASE("a pair measures itself") {
  int port = 0;
  const auto listener = listen_tcp("127.0.0.1:0", port);
  REQUIRE(listener);
  const UniqueFd owner(*listener);
  Status served;
  std::thread server([&] { served = serve_pair(owner.get(), 5000, {}); });
  const auto result = drive_pair(to(port, 5000, 4));
  server.join();
  REQUIRE(served);
  REQUIRE(result);
  CHECK(result->back_ok);
  CHECK(result->latency_us > 0);
  CHECK(result->to_gbps > 0);
  CHECK(result->from_gbps > 0);
}

TEST_CASE("a closed port and a silent peer are named, in time") {
  int port = 0;
  const auto listener = listen_tcp("127.0.0.1:0", port);
  REQUIRE(listener);
  PairRequest request = to(port, 200, 1);
  const auto start = std::chrono::steady_clock::now();
  CHECK(drive_pair(request).error().code == "deadline");
  ::close(*listener);
  CHECK(drive_pair(request).error().code == "connect");
  request.peer = "nowhere";
  CHECK(drive_pair(request).error().code == "usage");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("a listener without a peer ends") {
  int port = 0;
  const auto listener = listen_tcp("127.0.0.1:0", port);
  REQUIRE(listener);
  const UniqueFd owner(*listener);
  CHECK(serve_pair(owner.get(), 100, {}).error().code == "deadline");
}
