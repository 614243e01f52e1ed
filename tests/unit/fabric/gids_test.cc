// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/network/gids.h"

#include "catch.h"
#include "fabric/facts/facts_json.h"

using namespace muster;

namespace {

FabricPort port_with(std::initializer_list<const char*> lines) {
  FabricPort port;
  port.gids.emplace();
  for (const char* line : lines) {
    FabricGid gid = parse_gid_line(line).value();
    if (gid.index < 0) gid.index = static_cast<int>(port.gids->size());
    port.gids->push_back(gid);
  }
  return port;
}

constexpr NcclVersion kNew{2, 26, 2};

}  // namespace

TEST_CASE("addresses are told apart") {
  const auto kind = [](const char* text) {
    FabricGid gid;
    gid.gid = text;
    return gid_address(gid);
  };
  CHECK(kind("10.1.2.3") == GidAddress::kIpv4);
  CHECK(kind("::ffff:10.1.2.3") == GidAddress::kIpv4);
  CHECK(kind("0000:0000:0000:0000:0000:ffff:0a01:0203") == GidAddress::kIpv4);
  CHECK(kind("fe80::1") == GidAddress::kLinkLocal);
  CHECK(kind("169.254.1.1") == GidAddress::kLinkLocal);
  CHECK(kind("fd02::1") == GidAddress::kIpv6);
  CHECK(kind("fe80:0000:0000:0000:0000:0000:0000:0000") == GidAddress::kNone);
  CHECK(kind("::") == GidAddress::kNone);
  CHECK(kind("") == GidAddress::kNone);
  CHECK(kind("rubbish") == GidAddress::kNone);
}

TEST_CASE("NCCL before 2.21 takes index 0") {
  const auto port = port_with({"v1 fe80::1", "v2 fe80::1", "v2 10.0.0.1"});
  CHECK(nccl_gid({2, 20, 5}, port).index == 0);
}

TEST_CASE("the scan ends at the first IPv4 address of RoCE v2") {
  const auto port = port_with({"v1 fe80::1", "v2 fe80::1", "v1 10.0.0.1",
                               "v2 10.0.0.1", "v1 10.9.0.1", "v2 10.9.0.1"});
  CHECK(nccl_gid(kNew, port).index == 3);
  CHECK(nccl_gid(kNew, port, false, "10.9.0.0/16").index == 5);
}

TEST_CASE("the scan stays at index 0 without IPv4") {
  const auto port =
      port_with({"v1 fe80::1", "v2 fe80::1", "v1 fd02::1", "v2 fd02::1"});
  CHECK(nccl_gid(kNew, port).index == 0);
  CHECK(nccl_gid(kNew, port, true).index == 3);
}

TEST_CASE("an unreadable entry ends NCCL 2.21 to 2.26.1") {
  const auto port = port_with({"0 unreadable", "3 v2 10.0.0.1"});
  CHECK(nccl_gid({2, 23, 4}, port).aborts);
  CHECK(!nccl_gid(kNew, port).aborts);
  CHECK(nccl_gid(kNew, port).index == 3);
}

TEST_CASE("a table that begins above another namespace's entries") {
  const NcclVersion old{2, 22, 3};
  const auto aborts = [&](std::initializer_list<const char*> gids) {
    return nccl_gid(old, port_with(gids)).aborts;
  };
  CHECK(aborts({"2 v1 10.0.0.1 net1", "3 v2 10.0.0.1 net1"}));
  CHECK(aborts(
      {"4 v1 fe80::1", "5 v2 fe80::1", "6 v1 10.0.0.1", "7 v2 10.0.0.1"}));
  CHECK(!nccl_gid(kNew, port_with({"6 v1 10.0.0.1", "7 v2 10.0.0.1"})).aborts);
  // A person's choice out of the table.
  CHECK(!aborts({"2 v1 10.0.0.1", "3 v2 10.0.0.1"}));
  CHECK(!aborts({"5 v2 10.0.0.1"}));
}

TEST_CASE("entries of other namespaces are no choice") {
  PodFabric pod;
  pod.netdevs.emplace().push_back({});
  pod.netdevs->front().name = "net1";
  const auto port = port_with(
      {"v2 10.0.0.1 eth0", "v2 10.0.0.2 net1", "v2 10.0.0.3 net1 unusable"});
  const auto usable = usable_gids(pod, port, GidAddress::kIpv4);
  REQUIRE(usable.size() == 1);
  CHECK(usable[0]->index == 1);
}
