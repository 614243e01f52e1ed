// SPDX-License-Identifier: Apache-2.0
// Facts as people write and paste them: the right values, or one sentence.
#include "catch.h"
#include "fabric/facts_json.h"
#include "fabric/policy.h"

using namespace muster;

namespace {

PodFabric pod_of(const std::string& text) {
  const auto facts = read_facts(text, "f");
  INFO(text);
  if (!facts) FAIL(facts.error().text());
  return facts->pods.at(0);
}

FabricGid gid_of(const std::string& line) {
  const auto gid = parse_gid_line(line);
  INFO(line);
  if (!gid) FAIL(gid.error().text());
  return *gid;
}

double rate_of(const std::string& text) {
  return pod_of(R"({"hcas":[{"name":"a","rate_gbps":")" + text + R"("}]})")
      .hcas->at(0)
      .ports.at(0)
      .rate_gbps;
}

std::string notes_of(const std::string& text) {
  const auto facts = read_facts(text, "f");
  REQUIRE(facts);
  std::string out;
  for (const std::string& note : facts->notes) out += note + "\n";
  return out;
}

}  // namespace

TEST_CASE("lists may be objects by name, and pods too") {
  const auto facts = read_facts(
      R"({"pods":{"w0":{"hcas":{"mlx5_0":{"link_layer":"IB"}}},
                  "w1":{"hcas":{"mlx5_[0-1]":{"ports":{"2":{"state":"UP"}}}},
                        "netdevs":{"eth0":{"addresses":"10.0.0.1/24"}}}}})",
      "f");
  REQUIRE(facts);
  REQUIRE(facts->pods.size() == 2);
  CHECK(facts->pods[0].name == "w0");
  CHECK(facts->pods[0].hcas->at(0).name == "mlx5_0");
  REQUIRE(facts->pods[1].hcas->size() == 2);
  CHECK(facts->pods[1].hcas->at(1).name == "mlx5_1");
  CHECK(facts->pods[1].hcas->at(1).ports.at(0).number == 2);
  CHECK(facts->pods[1].netdevs->at(0).addresses.at(0) == "10.0.0.1/24");
  const PodFabric one = pod_of(R"({"environment":{"A":"b"},"mpi":{}})");
  CHECK(one.environment.at("A") == "b");
}

TEST_CASE("GPUs may be a number or a text, variables may be lines") {
  CHECK(pod_of(R"({"gpus":8})").gpus->size() == 8);
  const PodFabric pod = pod_of(
      R"({"gpus":"4x NVIDIA H100","plugins":"libnccl-net.so",
          "environment":["NCCL_DEBUG=INFO","NCCL_IB_HCA==mlx5_0"]})");
  REQUIRE(pod.gpus->size() == 4);
  CHECK(pod.gpus->at(3).name == "NVIDIA H100");
  CHECK(pod.plugins->at(0).name == "libnccl-net.so");
  CHECK(pod.environment.at("NCCL_IB_HCA") == "=mlx5_0");
  CHECK(pod_of(R"({"gpus":"NVIDIA H100"})").gpus->size() == 1);
}

TEST_CASE("rates and sizes in other units") {
  CHECK(rate_of("400 Gb/sec (4X NDR)") == 400);
  CHECK(rate_of("400G") == 400);
  CHECK(rate_of("400000 Mb/s") == 400);
  const PodFabric pod = pod_of(
      R"({"shm_bytes":"64M","memlock_bytes":"8192 kB",
          "netdevs":[{"name":"eth0","speed_mbps":"25G"}]})");
  CHECK(pod.shm_bytes == 64 << 20);
  CHECK(pod.memlock_bytes == 8 << 20);
  CHECK(pod.netdevs->at(0).speed_mbps == 25'000);
  CHECK(pod_of(R"({"shm_bytes":"16 GiB"})").shm_bytes == 16LL << 30);
}

TEST_CASE("GIDs as show_gids and ibv_devinfo print them") {
  const FabricGid shown = gid_of(
      "mlx5_0 1 3 0000:0000:0000:0000:0000:ffff:0a01:0203 10.1.2.3 v2 net1");
  CHECK(shown.index == 3);
  CHECK(shown.gid == "0000:0000:0000:0000:0000:ffff:0a01:0203");
  CHECK(shown.type == "v2");
  CHECK(shown.netdev == "net1");
  CHECK(gid_of("mlx5_0  1  1  fe80::1  v2  ib0.0065").netdev == "ib0.0065");
  const FabricGid info = gid_of("GID[  3]:\t\t::ffff:10.1.2.3, RoCE v2");
  CHECK(info.index == 3);
  CHECK(info.gid == "::ffff:10.1.2.3");
  CHECK(info.type == "v2");
  CHECK(gid_of("fe80::1, IB/RoCE v1").type == "v1");
  CHECK(gid_of("10.1.2.3 RoCEv2").type == "v2");
  CHECK_FALSE(parse_gid_line("1 2 3 4 5"));
  const PodFabric pod = pod_of(
      R"({"hcas":[{"name":"a","gids":{"3":"v2 10.0.0.1","1":"v2 fe80::1"}},
                  {"name":"b","gids":"GID[0]: fe80::1, RoCE v1\nGID[5]: 10.0.0.2, RoCE v2"}]})");
  CHECK(pod.hcas->at(0).ports.at(0).gids->at(1).index == 3);
  CHECK(pod.hcas->at(1).ports.at(0).gids->at(1).index == 5);
}

TEST_CASE("a frame around an index is no range of names") {
  const auto facts = read_facts(
      R"({"hcas":[{"name":"bnxt_re[0-1]","gids":
          ["GID[  1]: fe80::1, RoCE v2", "GID[3]: 10.0.0.[1-2], RoCE v2"]}]})",
      "f");
  REQUIRE(facts);
  const auto& gids = facts->pods[0].hcas->at(1).ports.at(0).gids;
  CHECK(gids->at(1).index == 3);
  CHECK(gids->at(1).gid == "10.0.0.2");
}

TEST_CASE("states of a port in every tool's words") {
  const auto transport_with = [](const std::string& state) {
    const PodFabric pod = pod_of(R"({"hcas":[{"name":"a","link_layer":"IB",
                                     "state":)" +
                                 state + "}]}");
    return plan_fabric({pod}, {}).transport;
  };
  for (const char* up : {"\"4: ACTIVE\"", "\"PORT_ACTIVE (4)\"", "\"Active\"",
                         "4", "\"up\"", "\"LinkUp\"", "\"ACTIVE\""}) {
    INFO(up);
    CHECK(transport_with(up) == "InfiniBand");
  }
  for (const char* down : {"\"1: DOWN\"", "\"INACTIVE\"", "2", "\"Init\""}) {
    INFO(down);
    CHECK(transport_with(down) == "TCP");
  }
}

TEST_CASE("what is no JSON is said with its place") {
  const auto comma = read_facts("{\"pods\": [\n  {\"name\": \"w0\"},\n]}", "f");
  REQUIRE_FALSE(comma);
  CHECK(comma.error().text().find("line 3") != std::string::npos);
}

TEST_CASE("what cannot be meant is said, with the likely name") {
  CHECK(notes_of(R"({"env":{"A":"b"}})").find("did you mean environment?") !=
        std::string::npos);
  CHECK(notes_of(R"({"netdevs":[{"name":"e","ip":"10.0.0.1"}]})")
            .find("did you mean addresses?") != std::string::npos);
  CHECK(notes_of(R"({"nccl_version":"latest"})").find("no version") !=
        std::string::npos);
  CHECK(notes_of(R"([{"name":"w"},{"name":"w"}])")
            .find("two pods are called w") != std::string::npos);
  CHECK(notes_of(R"({"nccl_version":"NCCL version 2.21.5+cuda12.4"})").empty());
  const auto number = read_facts(R"({"nccl_version":2.3})", "f");
  REQUIRE_FALSE(number);
  CHECK(number.error().text().find("2.3") != std::string::npos);
  CHECK_FALSE(read_facts(R"({"hcas":8})", "f"));
  CHECK_FALSE(read_facts(R"({"gpus":100000})", "f"));
}
