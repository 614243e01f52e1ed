// SPDX-License-Identifier: Apache-2.0
// What connections of the job are set to.
#include "sshd-lite/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>

#include "base/fd.h"
#include "catch.h"
#include "sshd-lite/ssh_dial.h"

namespace muster {
namespace {

std::string congestion_control(int socket) {
  char name[16] = {};
  socklen_t size = sizeof name;
  REQUIRE(::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0);
  return name;
}

int option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  REQUIRE(::getsockopt(socket, level, name, &value, &size) == 0);
  return value;
}

TEST_CASE("a connection of the job is not paced by BBR") {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(socket);
  if (::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, "bbr", 3) != 0) {
    WARN("not tested: no BBR for this user on this kernel");
    return;
  }
  tune_tcp(socket.get());
  CHECK_THAT(
      congestion_control(socket.get()),
      Catch::Matchers::Equals("cubic") || Catch::Matchers::Equals("reno"));
}

TEST_CASE("any other congestion control of the node stays") {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(socket);
  REQUIRE(::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, "reno", 4) ==
          0);
  tune_tcp(socket.get());
  CHECK(congestion_control(socket.get()) == "reno");
}

TEST_CASE("a host is dialled by number and by name") {
  const auto listener = listen_on("127.0.0.1", 0);
  REQUIRE(listener);
  const int port = local_port(listener->get());
  CHECK(dial("127.0.0.1", port, Milliseconds{5000}));
  CHECK(dial("localhost", port, Milliseconds{5000}));
}

// A connection that began with BBR is paced whatever it is told afterwards.
TEST_CASE("connections are tuned before they begin") {
  const UniqueFd plain(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (congestion_control(plain.get()) != "bbr") {
    WARN("not tested: this kernel begins without BBR");
  }
  const auto listener = listen_on("127.0.0.1", 0);
  REQUIRE(listener);
  CHECK(congestion_control(listener->get()) != "bbr");
  const int port = local_port(listener->get());
  const auto client = dial("127.0.0.1", port, Milliseconds{5000});
  REQUIRE(client);
  CHECK(congestion_control(client->get()) != "bbr");
  const UniqueFd accepted(::accept(listener->get(), nullptr, nullptr));
  REQUIRE(accepted);
  for (const int socket : {client->get(), accepted.get()}) {
    CHECK(congestion_control(socket) != "bbr");
    CHECK(option(socket, IPPROTO_TCP, TCP_NODELAY) != 0);
    CHECK(option(socket, SOL_SOCKET, SO_KEEPALIVE) != 0);
    CHECK(option(socket, IPPROTO_TCP, TCP_KEEPIDLE) == 10);
    CHECK(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT) == 20'000);
  }
}

}  // namespace
}  // namespace muster
