// SPDX-License-Identifier: Apache-2.0
#include "worker/session/meeting_port.h"

#include <set>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "base/listen.h"
#include "catch.h"

using namespace muster;

namespace {

std::string range(int first, int last) {
  const PortRange found = meeting_ports({first, last});
  return std::to_string(found.first) + "-" + std::to_string(found.last);
}

}  // namespace

TEST_CASE("ranks meet beside the kernel's own ports and node ports") {
  CHECK(range(32768, 60999) == "20000-29999");
  CHECK(range(25000, 60999) == "20000-24999");
  CHECK(range(15000, 25000) == "25001-29999");
  CHECK(range(20000, 60999) == "61000-65535");
  CHECK(range(10000, 65535) == "1024-9999");
  CHECK(range(1024, 65500) == "65501-65535");
  CHECK(range(1, 65535) == "0-0");
}

TEST_CASE("a port on which somebody listens is left out") {
  const UniqueFd taken = listen_on_any(0);
  REQUIRE(taken);
  const int port = port_of(taken.get());
  const std::string only = std::to_string(port) + "-" + std::to_string(port);
  CHECK(choose_meeting_port(only, "") == 0);
}

TEST_CASE("launches at the same time choose different ports") {
  const TemporaryDirectory root;
  root.write("proc/sys/net/ipv4/ip_local_port_range", "25000\t60999\n");
  std::set<int> seen;
  for (int i = 0; i < 20; ++i) {
    const int port = choose_meeting_port("", root.path());
    CHECK(port >= 20000);
    CHECK(port < 25000);
    seen.insert(port);
  }
  CHECK(seen.size() > 10);
}
