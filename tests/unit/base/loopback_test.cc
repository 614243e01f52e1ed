// SPDX-License-Identifier: Apache-2.0
// Dialling within this pod: both families, nobody there, nobody who accepts.
#include "base/loopback.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "catch.h"

namespace muster {
namespace {

constexpr std::chrono::milliseconds kLong{10'000};

// Empty where this machine has no ::1.
UniqueFd listen_on_ipv6(int& port) {
  UniqueFd out(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!out || ::bind(out.get(), generic, size) != 0 ||
      ::listen(out.get(), 1) != 0 ||
      ::getsockname(out.get(), generic, &size) != 0) {
    return {};
  }
  port = ntohs(address.sin6_port);
  return out;
}

TEST_CASE("dial_loopback finds a listener of IPv4") {
  const auto listener = listen_on_loopback();
  REQUIRE(listener);
  CHECK(dial_loopback(listener->port, kLong));
}

TEST_CASE("dial_loopback finds a listener that is on ::1 alone") {
  int port = 0;
  const UniqueFd listener = listen_on_ipv6(port);
  if (!listener) return;
  CHECK(dial_loopback(port, kLong));
}

TEST_CASE("dial_loopback tells that nobody listens") {
  int port = 0;
  {
    const auto listener = listen_on_loopback();
    REQUIRE(listener);
    port = listener->port;
  }
  const auto fd = dial_loopback(port, kLong);
  REQUIRE_FALSE(fd);
  CHECK(fd.error() == ECONNREFUSED);
}

TEST_CASE("dial_loopback does not wait for a listener that is stuck") {
  const auto listener = listen_on_loopback();
  REQUIRE(listener);
  // Two connections fill the queue of one that nobody accepts from.
  REQUIRE(::listen(listener->socket.get(), 0) == 0);
  std::vector<UniqueFd> filling;
  int error = 0;
  for (int i = 0; i < 8 && error == 0; ++i) {
    auto fd = dial_loopback(listener->port, std::chrono::milliseconds(100));
    if (fd) {
      filling.push_back(std::move(*fd));
    } else {
      error = fd.error();
    }
  }
  CHECK(error == ETIMEDOUT);
}

}  // namespace
}  // namespace muster
