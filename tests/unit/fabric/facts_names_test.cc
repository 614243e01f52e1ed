// SPDX-License-Identifier: Apache-2.0
// Fields by other names than the schema's: read, and said; or reported.
#include "catch.h"
#include "fabric/facts/facts_json.h"

using namespace muster;

namespace {

PodFabric pod_of(const std::string& text) {
  const auto facts = read_facts(text, "f");
  INFO(text);
  if (!facts) FAIL(facts.error().text());
  return facts->pods.at(0);
}

std::string notes_of(const std::string& text) {
  const auto facts = read_facts(text, "f");
  REQUIRE(facts);
  std::string out;
  for (const std::string& note : facts->notes) out += note + "\n";
  return out;
}

}  // namespace

TEST_CASE("fields by other names are read, and that is said") {
  const std::string text =
      R"({"env":{"A":"b"},"nccl":"2.21.5","interfaces":[{"name":"e","ip":"10.0.0.1/24"}],
          "NICs":[{"name":"mlx5_0","rate":"NDR","layer":"IB"}]})";
  const PodFabric pod = pod_of(text);
  CHECK(pod.environment.at("A") == "b");
  CHECK(pod.nccl_version == "2.21.5");
  CHECK(pod.netdevs->at(0).addresses ==
        std::vector<std::string>{"10.0.0.1/24"});
  CHECK(pod.hcas->at(0).ports.at(0).rate_gbps == 400);
  CHECK(pod.hcas->at(0).ports.at(0).link_layer == "IB");
  CHECK(notes_of(text).find("pods: env is read as environment") !=
        std::string::npos);
  // Both: the schema's name counts, the other is reported.
  const std::string both = R"({"env":{"A":"c"},"environment":{"A":"b"}})";
  CHECK(pod_of(both).environment.at("A") == "b");
  CHECK(notes_of(both).find("env is not a known field") != std::string::npos);
}

TEST_CASE("GIDs and interfaces with the fields of sysfs and ip") {
  const PodFabric pod = pod_of(R"({
      "hcas": [{"name": "m", "port_state": "4: ACTIVE", "gids": [
          {"idx": 3, "address": "10.0.0.1", "ver": "v2", "ndev": "net1"}]}],
      "netdevs": [{"name": "a", "state": "DOWN"}, {"name": "b", "state": "UP"},
                  {"name": "c", "operstate": "UNKNOWN"}]})");
  const FabricPort& port = pod.hcas->at(0).ports.at(0);
  CHECK(port.state == "4: ACTIVE");
  CHECK(port.gids->at(0).index == 3);
  CHECK(port.gids->at(0).type == "v2");
  CHECK(port.gids->at(0).netdev == "net1");
  CHECK(pod.netdevs->at(0).up == false);
  CHECK(pod.netdevs->at(1).up == true);
  CHECK(!pod.netdevs->at(2).up.has_value());
  CHECK(!read_facts(R"({"netdevs": [{"name": "a", "state": "odd"}]})", "f"));
}

TEST_CASE("an unknown field of many entries is told once") {
  const std::string notes =
      notes_of(R"({"hcas": [{"name": "m[0-7]", "colour": "red"}]})");
  CHECK(notes.find("hcas[0].colour") != std::string::npos);
  CHECK(notes.find("hcas[1].colour") == std::string::npos);
}

TEST_CASE("names of fields in other spellings, variables as in a manifest") {
  const PodFabric pod = pod_of(
      R"({"NCCL version":"2.21.5","HCAs":[{"name":"a","Link layer":"IB",
          "State":"Active"}],"environment":"NCCL_DEBUG: INFO\nNCCL_NET: IB"})");
  CHECK(pod.nccl_version == "2.21.5");
  CHECK(pod.hcas->at(0).ports.at(0).link_layer == "IB");
  CHECK(pod.environment.at("NCCL_DEBUG") == "INFO");
  CHECK(pod.environment.at("NCCL_NET") == "IB");
  CHECK(pod_of(R"({"environment":"NCCL_IB_HCA=mlx5_0:1 NCCL_NET=IB"})")
            .environment.at("NCCL_IB_HCA") == "mlx5_0:1");
}
