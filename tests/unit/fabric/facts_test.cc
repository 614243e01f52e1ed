// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <sstream>

#include "catch.h"
#include "fabric/facts/facts_json.h"

using namespace muster;

namespace {

std::string mistake(const char* text) {
  const auto facts = read_facts(text, "f.json");
  REQUIRE(!facts);
  CHECK(facts.error().code == "facts_invalid");
  CHECK(facts.error().text().find('\n') == std::string::npos);
  return facts.error().text();
}

}  // namespace

TEST_CASE("a machine from a bug report is a few lines") {
  const auto facts = read_facts(
      R"json({"name": "w[0-1]", "nccl_version": 22105,
              "peer_address": "10.0.0.[7-8]",
              "hcas": [{"name": "mlx5_[0-3]", "state": "4: ACTIVE",
                        "rate_gbps": "400 Gb/sec (4X NDR)"}],
              "memlock_bytes": "64 MiB", "peermem": "no"})json",
      "f");
  REQUIRE(facts);
  REQUIRE(facts->pods.size() == 2);
  const PodFabric& pod = facts->pods[1];
  CHECK(pod.name == "w1");
  CHECK(pod.nccl_version == "22105");
  CHECK(pod.peer_address == "10.0.0.8");
  CHECK(pod.memlock_bytes == 64 << 20);
  CHECK(no(pod.peermem));
  CHECK(!pod.dmabuf.has_value());
  CHECK(!pod.gpus.has_value());
  REQUIRE(pod.hcas->size() == 4);
  CHECK(pod.hcas->at(3).name == "mlx5_3");
  CHECK(pod.hcas->at(3).ports.at(0).rate_gbps == 400);
}

TEST_CASE("mistakes are one sentence with the place") {
  CHECK(mistake("").find("nothing in it") != std::string::npos);
  CHECK(mistake("[]").find("no pods") != std::string::npos);
  CHECK(mistake("{\"pods\": [3]}").find("pods[0]") != std::string::npos);
  CHECK(mistake(R"({"hcas": [{"name": "a", "numa": "x"}]})")
            .find("pods[0].hcas[0].numa should be a number") !=
        std::string::npos);
  CHECK(mistake(R"({"hcas": true})").find("pods[0].hcas should be a list") !=
        std::string::npos);
  CHECK(mistake(R"({"peermem": "perhaps"})").find("true or false") !=
        std::string::npos);
  CHECK(mistake(R"([{"name": "w[0-9999999]"}])").find("4096") !=
        std::string::npos);
  const std::string deep(100'000, '[');
  CHECK(mistake(deep.c_str()).find("deep") != std::string::npos);
}

TEST_CASE("mistakes tell their line") {
  const auto line = [](const std::string& text) {
    const std::string said = mistake(text.c_str());
    return said.substr(0, said.find(": "));
  };
  CHECK(line("{\"hcas\": [\n{\"name\": \"a\",\n\"numa\": \"x\"}]}") ==
        "f.json:3");
  CHECK(line("[{\"netdevs\": [\"lo\",\n\"eth0 10.0.0.1/24 defualt\"]}]") ==
        "f.json:2");
  CHECK(line("[{\"name\": \"w\",\n\"hcas\": \"mlx5_0 IB fats\"}]") ==
        "f.json:2");
  CHECK(line("[{\n\"name\": \"w\"\n") == "f.json:3");
  CHECK(mistake("[{\n\"name\": \"w\"").find("still open") != std::string::npos);
}

TEST_CASE("values that mean nothing are told once") {
  const auto facts = read_facts(
      R"([{"name": "w[0-7]", "netdevs": ["eth0 10.0.0.[1-8]/240"], "hcas": [
          {"name": "mlx5_0", "link_layer": "Infiniband", "state": "PORT_DOWN",
           "gids": ["3 v2 10.0.0.300", "4 v1 ::"]},
          {"name": "mlx5_1", "link_layer": "fibre", "state": "great"}]}])",
      "f");
  REQUIRE(facts.has_value());
  std::string all;
  for (const std::string& note : facts->notes) all += note + "\n";
  INFO(all);
  for (const char* told :
       {"\"10.0.0.1/240\" is not a prefix length",
        "\"10.0.0.300\" is not a GID address", "\"fibre\" is not a link layer",
        "\"great\" is not a port state"}) {
    INFO(told);
    CHECK(all.find(told) != all.npos);
    CHECK(all.find(told) == all.rfind(told));
  }
  CHECK(all.find("PORT_DOWN") == all.npos);
  CHECK(all.find("Infiniband") == all.npos);
}

TEST_CASE("brackets are bounded by what they make, not by numbers alone") {
  // 4096 pods with 4096 adapters each; one name of a megabyte, 4096 times.
  const auto most = [](const std::string& text) {
    const std::string said = mistake(text.c_str());
    INFO(said.substr(0, 300));
    CHECK(said.find("make more than 64 MiB of facts") != said.npos);
    CHECK(said.size() < 400);
  };
  most(R"([{"name": "w[0-4095]", "hcas": [{"name": "mlx5_[0-4095]"}]}])");
  most(R"([{"name": "w[0-4095]", "vendor": ")" + std::string(1 << 20, 'x') +
       "\"}]");
  most(R"([{"name": "w[0-4095])" + std::string(1 << 20, 'x') + "\"}]");
  most(R"([{"name": "w", "hcas": [{"name": "mlx5_[0-1023]", "ports":
           [{"port": 1, "gids": [)" +
       std::string(1 << 15, ' ') + R"("v2 ::ffff:10.0.0.1)" +
       std::string(1 << 17, ' ') + R"("]}]}]}])");
  most(R"({"gpus": [{"name": "a", "nics": {"mlx5_[0-4095]": ")" +
       std::string(1 << 16, 'x') + R"("}}]})");
  most(R"({"dead_hcas": ["a[0-4095])" + std::string(1 << 16, 'x') + R"("]})");
  // What a large job needs.
  CHECK(read_facts(R"([{"name": "w[0-2047]", "hcas": [{"name": "mlx5_[0-15]",
    "link_layer": "Ethernet", "gids": ["v1 fe80::1", "v2 fe80::1",
    "v1 10.0.0.[1-16]", "v2 10.0.0.[1-16]"]}]}])",
                   "f"));
}

TEST_CASE("what stands beside ports is bounded, too") {
  std::string ports;
  for (int i = 1; i <= 4000; ++i) ports += std::string(i > 1 ? "," : "") + "{}";
  const std::string said =
      mistake((R"({"hcas": [{"name": "a", "pkeys": [")" +
               std::string(1 << 16, 'x') + R"("], "ports": [)" + ports + "]}]}")
                  .c_str());
  CHECK(said.find("make more than 64 MiB of facts") != said.npos);
}

TEST_CASE("an unknown field is reported with what was meant") {
  const auto facts =
      read_facts(R"({"hcas": [{"name": "a", "drivr": "efa"}]})", "f");
  REQUIRE(facts);
  REQUIRE(facts->notes.size() == 1);
  CHECK(facts->notes[0] ==
        "pods[0].hcas[0].drivr is not a known field; did you mean driver?");
}

TEST_CASE("the schema page names every field") {
  std::stringstream page;
  page << std::ifstream(MUSTER_SCHEMA).rdbuf();
  PodFabric pod;
  FabricHca hca;
  hca.name = hca.driver = hca.firmware = hca.pci = hca.pci_path = "x";
  hca.gpu_path = hca.fails_at = hca.error = "x";
  hca.numa = 1;
  hca.vf = hca.bond = hca.device = hca.usable = true;
  FabricPort port;
  port.state = port.link_layer = port.netdev = port.phys_state = "x";
  port.rate_gbps = port.mtu = 1;
  port.pkeys = {"x"};
  FabricGid gid{1, "x", "v2", "x", true, true};
  port.gids = {gid};
  hca.ports = {port};
  pod.hcas = {hca};
  pod.plugins = {FabricPlugin{"x", "x", "x"}};
  pod.libfabric.version = "x";
  pod.libfabric.providers = {FabricProvider{"x", {"x"}}};
  pod.imex_channel = pod.acs = pod.multicast = pod.cross_rail = true;
  const std::string text = write_facts({pod});
  for (size_t at = text.find('"'); at != text.npos;) {
    const size_t end = text.find('"', at + 1);
    if (text[end + 1] == ':') {
      const std::string name = "`" + text.substr(at + 1, end - at - 1) + "`";
      INFO(name);
      CHECK(page.str().find(name) != std::string::npos);
    }
    at = text.find('"', end + 1);
  }
}

TEST_CASE("what is wrong in a file is told with its line") {
  const auto where = [](const std::string& text) {
    const auto facts = read_facts(text, "f.json");
    if (facts) return std::string("(read)");
    const std::string error = facts.error().text();
    return error.substr(0, error.find(": "));
  };
  CHECK(where("{\"pods\": [\n{\"name\": \"a\",\n\"hcas\": [ }]}") ==
        "f.json:3");
  CHECK(where("{\"pods\": [\n{\"name\": \"a\"},\n{\"shm_bytes\": 1},\n"
              "{\"name\": \"b\",\n \"shm_bytes\": \"lots\"}]}") == "f.json:5");
  CHECK(where("[{\"name\": \"a\"},\n{\"shm_bytes\": \"lots\"}]") == "f.json:2");
  CHECK(where("{\"name\": \"a\",\n\n\"shm_bytes\": \"lots\"}") == "f.json:3");
  CHECK(where("[{\"hcas\": [\n{\"name\": \"x\", \"ports\": [\n{},\n"
              "{\"port\": \"one\"}]}]}]") == "f.json:4");
  CHECK(where("{\"pods\": {\"w1\": {\"gpus\": 8},\n\"w0\":\n{\"shm_bytes\": "
              "\"lots\"}}}") == "f.json:3");
  CHECK(where("[{\"name\": \"w[0-3]\",\n\"shm_bytes\": \"lots\"}]") ==
        "f.json:2");
  CHECK(where(" \n") == "f.json");
}

TEST_CASE("addresses that are none are noted") {
  const auto facts = read_facts(
      R"([{"netdevs": ["eth0 10.0.0.1/24 default",
                       {"name": "eth1", "addresses": ["10.0.0.999/24"]}]}])",
      "f.json");
  REQUIRE(facts.has_value());
  REQUIRE(facts->notes.size() == 1);
  CHECK(facts->notes[0].find("eth1: \"10.0.0.999/24\"") != std::string::npos);
}

TEST_CASE("a number too large for any fact is refused, with its file") {
  for (const char* text : {R"([{"name": "w0", "gpus": 1e400}])",
                           R"({"name": "w0", "mtu": -1e999})"}) {
    const auto facts = read_facts(text, "f.json");
    INFO(text);
    REQUIRE_FALSE(facts);
    CHECK(facts.error().text().find("f.json") != std::string::npos);
    CHECK(facts.error().text().find("too large") != std::string::npos);
  }
}
