// SPDX-License-Identifier: Apache-2.0
// Facts as people write and paste them: the right values, or one sentence.
#include "catch.h"
#include "fabric/facts/facts_json.h"
#include "fabric/policy/policy.h"

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

TEST_CASE("lines of NCCL's log in a list") {
  const PodFabric line = pod_of(R"({
      "hcas": ["NET/IB : Using [0]mlx5_8:1/IB [1]mlx5_9:1/RoCE [RO]"],
      "netdevs": ["[0]ib8:10.1.0.2<0> [1]ib9:10.1.1.2<0>"]})");
  REQUIRE(line.hcas->size() == 2);
  CHECK(line.hcas->at(1).name == "mlx5_9");
  CHECK(line.hcas->at(1).ports.at(0).link_layer == "RoCE");
  REQUIRE(line.netdevs->size() == 2);
  CHECK(line.netdevs->at(1).addresses.at(0) == "10.1.1.2");
  const PodFabric words = pod_of(R"({
      "hcas": ["[0]mlx5_8:1/IB", "[1]mlx5_9:1/IB"],
      "netdevs": ["[0]ib8:10.1.0.2<0>", "[1]ib9:10.1.1.2<0>"]})");
  REQUIRE(words.hcas->size() == 2);
  CHECK(words.hcas->at(1).name == "mlx5_9");
  REQUIRE(words.netdevs->size() == 2);
  CHECK(words.netdevs->at(1).name == "ib9");
}

TEST_CASE("lanes and generation in an adapter's line") {
  const auto rate = [](const std::string& words) {
    return pod_of(R"({"hcas": ["mlx5_0 InfiniBand )" + words + "\"]}")
        .hcas->at(0)
        .ports.at(0)
        .rate_gbps;
  };
  CHECK(rate("ACTIVE 4X NDR") == 400);
  CHECK(rate("2x HDR ACTIVE") == 100);
  CHECK(!read_facts(R"({"hcas": ["mlx5_0 4x fast"]})", "f"));
}

TEST_CASE("fields beside pods are those of all pods") {
  const std::string text =
      R"({"source":"s","nccl":"2.21.5","gpus":8,"name":"all",
          "env":{"A":"1","B":"2"},"hcas":["mlx5_[0-1] IB ACTIVE 400"],
          "pods":[{"name":"w0","environment":{"A":"own"},"gpus":4},
                  "w[1-2]"]})";
  const auto facts = read_facts(text, "f");
  if (!facts) FAIL(facts.error().text());
  REQUIRE(facts->pods.size() == 3);
  const PodFabric& own = facts->pods[0];
  CHECK(own.name == "w0");
  CHECK(own.nccl_version == "2.21.5");
  CHECK(own.gpus->size() == 4);
  CHECK(own.environment.at("A") == "own");
  CHECK(own.environment.at("B") == "2");
  CHECK(own.hcas->size() == 2);
  CHECK(facts->pods[2].name == "w2");
  CHECK(facts->pods[2].gpus->size() == 8);
  CHECK(facts->pods[2].environment.at("A") == "1");
  const std::string notes = notes_of(text);
  CHECK(notes.find("gpus beside pods") != notes.npos);
  CHECK(notes.find("source") == notes.npos);
  CHECK(notes.find("name beside") == notes.npos);
}

TEST_CASE("fields beside pods are not copied without end") {
  std::string pods = "{}";
  for (int i = 0; i < 1000; ++i) pods += ",{}";
  const auto facts = read_facts(R"({"vendor":")" + std::string(1 << 17, 'v') +
                                    R"(","pods":[)" + pods + "]}",
                                "f");
  REQUIRE(!facts);
  CHECK(facts.error().why.find("too large for 1001 pods") != std::string::npos);
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

TEST_CASE("pods by name are pods whatever is said of them") {
  const auto names = [](const std::string& text) {
    std::vector<std::string> out;
    const auto facts = read_facts(text, "f");
    REQUIRE(facts.has_value());
    for (const PodFabric& pod : facts->pods) out.push_back(pod.name);
    return out;
  };
  using Names = std::vector<std::string>;
  CHECK(names(R"({"pods": {"w1": {"gpus": 8}, "w0": {"shm_bytes": 1}}})") ==
        Names{"w0", "w1"});
  CHECK(names(R"({"w0": {"env": {"A": "1"}}, "w1": {}})") == Names{"w0", "w1"});
  CHECK(names(R"({"mpi": {"version": "5"}, "hcas": {"a": {}}})") ==
        Names{"pod-0"});
  CHECK(names(R"({"environment": {"A": "1"}})") == Names{"pod-0"});
}

TEST_CASE("comments, a comma too many and lines within a text are read") {
  const auto facts = read_facts(
      "{\"pods\": [ // both\n  {\"name\": \"w0\",\n   # of the log\n"
      "   \"env\": \"A=1\n\tB=http://x/#y\",\n   /* not\n yet */\n"
      "   \"shm\": \"64M\",},\n]}",
      "f");
  if (!facts) FAIL(facts.error().text());
  CHECK(facts->pods[0].environment.at("A") == "1");
  CHECK(facts->pods[0].environment.at("B") == "http://x/#y");
  CHECK(facts->pods[0].shm_bytes == 64 << 20);
  // Lines are the file's also behind all that.
  const auto wrong = read_facts(
      "{\"env\": \"A=1\nB=2\", // two\n/* a\nb */\n\"hcas\": 8,\n}", "f");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text().find("f:5: ") == 0);
}

TEST_CASE("what is no JSON is said with its place and its likely cause") {
  const auto why = [](const std::string& text) {
    const auto facts = read_facts(text, "f");
    return facts ? "read" : facts.error().text();
  };
  const auto says = [&](const std::string& text, const std::string& place,
                        const std::string& words) {
    const std::string told = why(text);
    INFO(told);
    CHECK(told.find("f:" + place + ": ") == 0);
    CHECK(told.find(words) != std::string::npos);
  };
  says("pods:\n- name: w0\n", "1", "yq -o json");
  says("{\"name\": \"w0\",\n\"rate\": NaN}", "2", "NaN is not a JSON number");
  says("{\"name\": \"w0\",\n\"vm\": True}", "2", "True is Python's");
  says("{'name': 'w0'}", "1", "double quotation marks");
  says("{\"name\": \"w0\"\n\"hcas\": []}", "2", "a comma, a colon or");
  says("{\"name\": \"w0}\n", "1", "quotation mark is missing");
  says("{\"name\": \"w0\",\n\"hcas\": [\n", "3", "ends here");
  says("{\"name\": \"w0,\n\"hcas\": []}", "1", "quotation mark is missing");
  says("{\"name\": \"w0\"}\n{\"name\": \"w1\"}", "2", "[{…}, {…}]");
  says("{\"name\": \"w0\",\n\"hcas\": }", "2", "this is not JSON");
  says(R"({"hcas":8})", "1", "mlx5_[0-7]");
  says(R"({"env":{"A":{"b":1}}})", "1", "environment.A should be a text");
}

TEST_CASE("a field that stands twice, or beside the pods by mistake, is said") {
  CHECK(notes_of(R"({"name":"w","hcas":[],"hcas":["a"]})")
            .find("\"hcas\" stands twice") != std::string::npos);
  const std::string notes =
      notes_of(R"({"source":"s","title":"t","profile":"rl","enviroment":{},
                   "pods":[{"name":"w"}]})");
  CHECK(notes.find("enviroment beside pods is not a known field; did you mean "
                   "environment?") != std::string::npos);
  CHECK(notes.find("give --profile") != std::string::npos);
  CHECK(notes.find("title") == std::string::npos);
}

TEST_CASE("rates in all their units, none and unknown in words") {
  CHECK(rate_of("4X NDR") == 400);
  CHECK(rate_of("2X HDR") == 100);
  CHECK(rate_of("NDR200") == 200);
  CHECK(rate_of("HDR100") == 100);
  CHECK(rate_of("50 GB/s") == 400);
  CHECK(rate_of("400 Gbps") == 400);
  CHECK(rate_of("400Gb/s") == 400);
  CHECK(rate_of("0.4 Tb/s") == 400);
  CHECK(rate_of("100000Mb/s") == 100);
  CHECK(rate_of("100 (4X EDR)") == 100);
  CHECK(rate_of("400 ") == 400);
  CHECK(rate_of("unknown") == -1);
  for (const char* wrong : {"400 apples", "4X fast", "fast"}) {
    const auto facts = read_facts(
        R"({"hcas":[{"name":"a","rate":")" + std::string(wrong) + "\"}]}", "f");
    REQUIRE_FALSE(facts);
    CHECK(facts.error().text().find("is not a rate") != std::string::npos);
    CHECK(facts.error().text().find("f:1: ") == 0);
  }
  CHECK(pod_of(R"({"netdevs":[{"name":"a","speed":"25 Gbit"}]})")
            .netdevs->at(0)
            .speed_mbps == 25000);
  CHECK(pod_of(R"({"hcas":"none"})").hcas->empty());
  CHECK_FALSE(pod_of(R"({"hcas":"unknown","gpus":"?"})").hcas);
  CHECK(notes_of(R"({"hcas":[{"name":"a","rate_gbps":-5}]})").find("below") !=
        std::string::npos);
}

TEST_CASE("what cannot be meant is said, with the likely name") {
  CHECK(notes_of(R"({"enviroment":{"A":"b"}})")
            .find("did you mean environment?") != std::string::npos);
  CHECK(notes_of(R"({"nccl_version":"latest"})").find("not a version") !=
        std::string::npos);
  CHECK(notes_of(R"([{"name":"w"},{"name":"w"}])")
            .find("two pods are called w") != std::string::npos);
  CHECK(notes_of(R"({"nccl_version":"NCCL version 2.21.5+cuda12.4"})").empty());
  const auto number = read_facts(R"({"nccl_version":2.3})", "f");
  REQUIRE_FALSE(number);
  CHECK(number.error().text().find("2.3") != std::string::npos);
  CHECK(number.error().text().find("f:1: ") == 0);
  CHECK_FALSE(read_facts(R"({"hcas":8})", "f"));
  CHECK_FALSE(read_facts(R"({"gpus":100000})", "f"));
}

TEST_CASE("a list entry may be one text with what is known of it") {
  const PodFabric pod = pod_of(
      R"x({"hcas":["mlx5_[0-1] InfiniBand ACTIVE NDR", "mlx5_2 port 1 ==> eth2 (Down)",
                  "mlx5_3:1/RoCE"],
          "netdevs":["eth0 10.0.0.4/24 default", "docker0 172.17.0.1/16 down",
                     "ib0:10.1.0.4<0>"],
          "plugins":["aws-ofi-nccl 1.18.0"]})x");
  REQUIRE(pod.hcas->size() == 4);
  CHECK(pod.hcas->at(1).name == "mlx5_1");
  CHECK(pod.hcas->at(1).ports.at(0).link_layer == "infiniband");
  CHECK(pod.hcas->at(1).ports.at(0).rate_gbps == 400);
  CHECK(pod.hcas->at(2).ports.at(0).netdev == "eth2");
  CHECK(pod.hcas->at(2).ports.at(0).state == "down");
  CHECK(pod.hcas->at(3).name == "mlx5_3");
  CHECK(pod.hcas->at(3).ports.at(0).link_layer == "RoCE");
  REQUIRE(pod.netdevs->size() == 3);
  CHECK(pod.netdevs->at(0).addresses ==
        std::vector<std::string>{"10.0.0.4/24"});
  CHECK(pod.netdevs->at(0).default_route == true);
  CHECK(pod.netdevs->at(1).up == false);
  CHECK(pod.netdevs->at(2).name == "ib0");
  CHECK(pod.netdevs->at(2).addresses == std::vector<std::string>{"10.1.0.4"});
  CHECK(pod.plugins->at(0).name == "aws-ofi-nccl");
  CHECK(pod.plugins->at(0).version == "1.18.0");
  const PodFabric lines = pod_of(
      R"({"hcas":"mlx5_[0,3], mlx5_bond_0","netdevs":{"eth0":"10.0.0.4/24"},
          "dead_hcas":["mlx5_[0,3]"]})");
  CHECK(lines.hcas->size() == 3);
  CHECK(lines.netdevs->at(0).addresses.size() == 1);
  CHECK(lines.dead_hcas == std::vector<std::string>{"mlx5_0", "mlx5_3"});
}

TEST_CASE("a text that says something nobody can read is refused") {
  for (const char* text :
       {R"({"hcas":["mlx5_0 fastest"]})", R"({"netdevs":["eth0 somewhere"]})",
        R"({"hcas":[""]})"}) {
    const auto facts = read_facts(text, "f");
    INFO(text);
    REQUIRE_FALSE(facts);
    CHECK(facts.error().text().find("means nothing here") != std::string::npos);
  }
}

TEST_CASE("names as keys keep the order of their numbers") {
  const PodFabric pod = pod_of(
      R"({"hcas":{"mlx5_10":{},"mlx5_9":{},"mlx5_2":"InfiniBand","mlx5_1":null},
          "gpus":{"0000:18:00.0":{"nics":{"mlx5_[1-2]":"PIX"}},
                  "0000:2a:00.0":{"name":"NVIDIA H100"}}})");
  std::string names;
  for (const FabricHca& hca : *pod.hcas) names += hca.name + " ";
  CHECK(names == "mlx5_1 mlx5_2 mlx5_9 mlx5_10 ");
  CHECK(pod.hcas->at(1).ports.at(0).link_layer == "InfiniBand");
  CHECK(pod.gpus->at(0).pci == "0000:18:00.0");
  CHECK(pod.gpus->at(0).nics.at("mlx5_2") == "PIX");
  CHECK(pod.gpus->at(1).name == "NVIDIA H100");
}

TEST_CASE("GPUs with a count, ports that share their adapter's fields") {
  CHECK(pod_of(R"({"gpus":[{"name":"NVIDIA L40S","count":4}]})").gpus->size() ==
        4);
  CHECK(pod_of(R"({"gpus":"NVIDIA H100 x8"})").gpus->size() == 8);
  const PodFabric pod = pod_of(
      R"({"hcas":[{"name":"mlx4_0","link_layer":"IB",
                   "ports":[{"port":1},{"port":2,"link_layer":"Ethernet"}]},
                  {"name":"mlx4_1","ports":{"state":"DOWN"}}]})");
  CHECK(pod.hcas->at(0).ports.at(0).link_layer == "IB");
  CHECK(pod.hcas->at(0).ports.at(1).link_layer == "Ethernet");
  CHECK(pod.hcas->at(1).ports.at(0).state == "DOWN");
}

TEST_CASE("variables as shells, mpirun lines and manifests have them") {
  const PodFabric pod = pod_of(
      R"({"environment":"export NCCL_NET=\"AWS Libfabric\"\n-x NCCL_DEBUG=INFO -x NCCL_IB_HCA==mlx5_0",
          "nccl_conf":[{"name":"NCCL_IB_TC","value":106},
                       {"name":"NCCL_IB_SL","value":"3"}]})");
  CHECK(pod.environment.at("NCCL_NET") == "AWS Libfabric");
  CHECK(pod.environment.at("NCCL_DEBUG") == "INFO");
  CHECK(pod.environment.at("NCCL_IB_HCA") == "=mlx5_0");
  CHECK(pod.nccl_conf.at("NCCL_IB_TC") == "106");
  CHECK(pod_of(R"({"environment":{"NCCL_IB_HCA":null}})").environment.empty());
  CHECK(pod_of(R"({"nccl_conf":"","environment":[" "]})").nccl_conf.empty());
}

TEST_CASE("adapters and interfaces as people write them in a line") {
  const auto names = [](const std::string& hca) {
    std::string out;
    const PodFabric pod = pod_of(R"({"hcas":[")" + hca + R"("]})");
    for (auto& one : *pod.hcas) {
      out += one.name + " " + one.ports.at(0).link_layer + " " +
             std::to_string(static_cast<int>(one.ports.at(0).rate_gbps)) + ";";
    }
    return out;
  };
  const std::string two = "mlx5_0 ib 400;mlx5_1 ib 400;";
  CHECK(names("mlx5_0-1 IB 400") == two);
  CHECK(names("mlx5_0..1 IB 400 Gb/s") == two);
  CHECK(names("mlx5_0..mlx5_1: IB, NDR, active") == two);
  CHECK(names("mlx5_[0-1] (IB, 400 Gbps, up)") == two);
  CHECK(names("mlx5_0 State: Active Rate: 400 Link layer: IB") ==
        "mlx5_0 ib 400;");
  CHECK(names("rdmap79s0-rdma IB 400") == "rdmap79s0-rdma ib 400;");
  CHECK(names("mlx5_7-0 IB 400") == "mlx5_7-0 ib 400;");

  const PodFabric pod = pod_of(
      R"({"netdevs":["eth0: 10.0.0.1/24","net1-0 192.168.0.5/18",
          "lo UNKNOWN 127.0.0.1/8 ::1/128",
          "eth1 inet 10.1.0.1/24 brd 10.1.0.255 scope global dynamic",
          "eth2: <BROADCAST,UP> mtu 9000 10.2.0.1/16"]})");
  REQUIRE(pod.netdevs->size() == 5);
  CHECK(pod.netdevs->at(0).name == "eth0");
  CHECK(pod.netdevs->at(1).name == "net1-0");
  CHECK(pod.netdevs->at(3).addresses ==
        std::vector<std::string>{"10.1.0.1/24"});
  CHECK(pod.netdevs->at(4).mtu == 9000);
}

TEST_CASE("interfaces as NCCL lists them, libraries and pods by name alone") {
  const auto facts = read_facts(
      R"(["a-launcher", {"name": "b", "ucx": "1.17.0", "libfabric": "v1.22.0",
          "mpi": "Open MPI 4.1.5", "netdevs": "NET/Socket : Using )"
      R"([0]eth0:10.0.0.1<0> [1]br-1a:172.18.0.1<0> )"
      R"([2]veth4:fe80::6c%veth4<0>"}])",
      "log");
  if (!facts) FAIL(facts.error().text());
  CHECK(facts->pods[0].name == "a-launcher");
  const PodFabric& pod = facts->pods[1];
  CHECK(pod.mpi.family == "openmpi");
  CHECK(pod.mpi.version == "4.1.5");
  CHECK(pod.ucx.version == "1.17.0");
  CHECK(pod.libfabric.version == "1.22.0");
  REQUIRE(pod.netdevs->size() == 3);
  CHECK(pod.netdevs->at(1).name == "br-1a");
  CHECK(pod.netdevs->at(2).addresses == std::vector<std::string>{"fe80::6c"});
}

TEST_CASE("the line in which NCCL lists its adapters") {
  const auto names = [](const std::string& line) {
    const auto facts = read_facts(R"([{"hcas": ")" + line + "\"}]", "log");
    if (!facts) FAIL(facts.error().text());
    std::string out;
    for (const FabricHca& hca : *facts->pods[0].hcas) {
      out += hca.name + ":" + std::to_string(hca.ports[0].number) + "/" +
             hca.ports[0].link_layer + " ";
    }
    return out;
  };
  CHECK(names("NET/IB : Using [0]mlx5_2:1/IB [1]mlx5_0:2/IB [RO]; OOB "
              "eth0:10.0.0.1<0>") == "mlx5_2:1/IB mlx5_0:2/IB ");
  CHECK(names("[0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [RO]") ==
        "mlx5_2:1/RoCE mlx5_3:1/RoCE ");
  CHECK(names("mlx5_[0-1]:1/IB") == "mlx5_0:1/IB mlx5_1:1/IB ");
  CHECK(names("mlx5_0: IB, 200, mlx5_4 port 2 IB, NDR") ==
        "mlx5_0:1/ib mlx5_4:2/ib ");
  CHECK(read_facts(R"([{"hcas": {}}])", "none")->pods[0].hcas->empty());
}

TEST_CASE("pods by a number, by names, by other words") {
  const auto pods = [](const std::string& text) {
    const auto facts = read_facts(text, "f");
    if (!facts) FAIL(facts.error().text());
    std::string out;
    for (const PodFabric& pod : facts->pods) {
      out += pod.name + ":" + std::to_string(pod.hcas->size()) + " ";
    }
    return out;
  };
  const std::string hcas = R"("hcas":["mlx5_[0-1] IB"])";
  CHECK(pods(R"({"pods":2,)" + hcas + "}") == "pod-0:2 pod-1:2 ");
  CHECK(pods(R"({"pods":"w[0-1]",)" + hcas + "}") == "w0:2 w1:2 ");
  CHECK(pods(R"({"hosts":["a","b"],)" + hcas + "}") == "a:2 b:2 ");
  CHECK(pods(R"({"nodes":{"a":{"gpus":8},"b":{"gpus":8}},)" + hcas + "}") ==
        "a:2 b:2 ");
  CHECK(pods(R"({"hosts":2,)" + hcas + "}") == "pod-0:2 pod-1:2 ");
  CHECK(pods(R"({"nodes":"w[0-1]",)" + hcas + "}") == "w0:2 w1:2 ");
  CHECK(pods(R"({"name":"w","nodes":2,)" + hcas + "}") == "w:2 ");
  CHECK(!read_facts(R"({"pods":0})", "f"));
  CHECK(!read_facts(R"({"pods":99999})", "f"));
  CHECK(!read_facts(R"({"pods":-1})", "f"));
}

TEST_CASE("a launcher's line tells its variables") {
  const auto of = [](const std::string& field, const std::string& text) {
    return pod_of("{\"" + field + "\": " + text + "}").environment;
  };
  const auto all = of("mpirun", R"("mpirun -np 16 --mca btl tcp,self -mca pml
      ob1 -x NCCL_IB_HCA='=mlx5_0,mlx5_1' \\\n -x LD_LIBRARY_PATH
      --prtemca prte_if_include eth0 -x NCCL_DEBUG=INFO ./perf size=8")");
  CHECK(all.size() == 5);
  CHECK(all.at("OMPI_MCA_btl") == "tcp,self");
  CHECK(all.at("NCCL_IB_HCA") == "=mlx5_0,mlx5_1");
  CHECK(all.at("PRTE_MCA_prte_if_include") == "eth0");
  CHECK(all.at("NCCL_DEBUG") == "INFO");
  const auto intel = of(
      "command", R"("mpiexec.hydra -genv I_MPI_FABRICS shm:ofi -genv A=b x")");
  CHECK(intel.at("I_MPI_FABRICS") == "shm:ofi");
  CHECK(intel.at("A") == "b");
  const auto words =
      of("args", R"(["mpirun", "-x", "NCCL_IB_DISABLE=1", "run"])");
  CHECK(words.at("NCCL_IB_DISABLE") == "1");
  const auto beside = pod_of(R"({"command": "mpirun -x A=1 -x B=2 run",
      "env": {"B": "3"}})");
  CHECK(beside.environment.at("A") == "1");
  CHECK(beside.environment.at("B") == "3");
  CHECK(notes_of(R"({"command": ["sleep", "infinity"]})").find("command") !=
        std::string::npos);
}

TEST_CASE("variables of scripts, as a shell takes them") {
  const auto of = [](const std::string& text) {
    return pod_of("{\"env\": \"" + text + "\"}").environment;
  };
  CHECK(of("# export NCCL_IB_DISABLE=1\\nexport A=1 # why").size() == 1);
  CHECK(of("export A=1 # why").at("A") == "1");
  CHECK(of("A=1 B=2 torchrun --nproc 8 train.py").at("B") == "2");
  CHECK(of("setenv FI_PROVIDER tcp").at("FI_PROVIDER") == "tcp");
  // What a shell cuts off, and its user did not mean to.
  CHECK(of("export A=x, y").at("A") == "x, y");
  const auto container =
      of("export APPTAINERENV_A=1\\nexport SINGULARITYENV_B=2");
  CHECK(container.at("A") == "1");
  CHECK(container.at("B") == "2");
  const auto json = pod_of(R"({"env": {"A": true, "B": false}})").environment;
  CHECK(json.at("A") == "1");
  CHECK(json.at("B") == "0");
}

TEST_CASE("adapters of which only the number is told") {
  const auto eight = pod_of(R"({"hcas": "8x ConnectX-7 NDR InfiniBand"})");
  REQUIRE(eight.hcas->size() == 8);
  CHECK(eight.hcas->at(7).name == "mlx5_7");
  CHECK(eight.hcas->at(7).ports.at(0).rate_gbps == 400);
  CHECK(pod_of(R"({"infiniband": "2 x Broadcom Thor2 RoCE 400G"})")
            .hcas->at(1)
            .name == "bnxt_re1");
}

TEST_CASE("words in brackets behind an address") {
  const FabricNetdev netdev =
      pod_of(R"x({"networks": ["eth0: 10.0.0.4/24 (default route)"]})x")
          .netdevs->at(0);
  CHECK(yes(netdev.default_route));
  const FabricGid gid = gid_of("3: ::ffff:10.0.0.4 (RoCE v2)");
  CHECK(gid.index == 3);
  CHECK(gid.type == "v2");
  CHECK(gid.gid == "::ffff:10.0.0.4");
}

TEST_CASE("more words that people use") {
  const auto hcas =
      *pod_of(R"({"hcas": ["8x mlx5 400 IB", "1x mlx5 25 Ethernet",
      "mlx5_20 VF RoCE 2x100G LID 3"]})")
           .hcas;
  REQUIRE(hcas.size() == 10);
  CHECK(hcas[8].name == "mlx5_8");
  CHECK(hcas[8].ports.at(0).rate_gbps == 25);
  CHECK(yes(hcas[9].vf));
  CHECK(hcas[9].ports.at(0).rate_gbps == 200);
  CHECK(pod_of(R"({"hcas": false})").hcas->empty());
  const auto netdev = pod_of(R"({"netdevs": ["eth0 10.0.0.4 netmask
      255.255.240.0 25G"]})")
                          .netdevs->at(0);
  CHECK(netdev.addresses.at(0) == "10.0.0.4/20");
  CHECK(netdev.speed_mbps == 25000);
  const auto pod = pod_of(R"({"acs": "enabled", "nvidia_peermem": "not loaded",
      "iommu": "unknown", "shm_size": "64m", "max locked memory": "64",
      "plugins": {"libnccl-net.so": "1.9.1"}, "instance": "p5.48xlarge",
      "gpus": {"model": "H100", "count": 2}})");
  CHECK(yes(pod.acs));
  CHECK(no(pod.peermem));
  CHECK(!pod.iommu);
  CHECK(pod.shm_bytes == 64 << 20);
  CHECK(pod.memlock_bytes == 64 << 10);
  CHECK(pod.plugins->at(0).version == "1.9.1");
  CHECK(pod.shape == "p5.48xlarge");
  CHECK(pod.gpus->at(1).name == "H100");
}
