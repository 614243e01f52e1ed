// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "catch.h"

namespace muster {
namespace {

Address v4(const char* text) {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
  in->sin_family = AF_INET;
  ::inet_pton(AF_INET, text, &in->sin_addr);
  address.length = sizeof *in;
  return address;
}

Address v6(const char* text) {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in6*>(&address.storage);
  in->sin6_family = AF_INET6;
  ::inet_pton(AF_INET6, text, &in->sin6_addr);
  address.length = sizeof *in;
  return address;
}

TEST_CASE("an address is told as a person writes it") {
  CHECK(to_text(v4("10.0.0.7")) == "10.0.0.7");
  CHECK(to_text(v6("fd00:0:0::7")) == "fd00::7");
  CHECK(to_text(Address{}) == "?");
}

TEST_CASE("a port is set in either family, high ones too") {
  Address four = v4("10.0.0.7");
  set_port(four, 65535);
  CHECK(ntohs(reinterpret_cast<sockaddr_in*>(&four.storage)->sin_port) ==
        65535);
  Address six = v6("fd00::7");
  set_port(six, 2222);
  CHECK(ntohs(reinterpret_cast<sockaddr_in6*>(&six.storage)->sin6_port) ==
        2222);
  CHECK(to_text(six) == "fd00::7");
}

}  // namespace
}  // namespace muster
