// SPDX-License-Identifier: Apache-2.0
// What connections of the job are set to.
#include "sshd-lite/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>

#include "base/fd.h"
#include "catch.h"

namespace muster {
namespace {

std::string congestion_control(int socket) {
  char name[16] = {};
  socklen_t size = sizeof name;
  REQUIRE(::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0);
  return name;
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

}  // namespace
}  // namespace muster
