// SPDX-License-Identifier: Apache-2.0
// What reaches what: one address in two pods, interfaces without an address,
// peers behind routers and rails that no route joins, and the interfaces of
// GPUDirect-TCPX.
#include "plan_of.h"

using namespace muster;

namespace {

// "" where it is not among the findings.
std::string severity_in(const FabricPlan& plan, const std::string& code) {
  for (const Finding& finding : plan.findings) {
    if (finding.code == code)
      return std::string(severity_name(finding.severity));
  }
  return "";
}

// A pod with a RoCE adapter on net1.
std::string roce(const char* name, const char* node, const char* address,
                 const char* more = "") {
  return std::string(R"({"name": ")") + name + R"(", "node": ")" + node +
         R"(", "nccl_version": "2.27.7", "hcas": [{"name": "mlx5_0",
      "link_layer": "Ethernet", "state": "ACTIVE", "netdev": "net1",
      "gids": ["1 v2 fe80::1", "3 v2 )" +
         address + R"("]}], "netdevs": ["net1 )" + address + "/24\"]" + more +
         "}";
}

}  // namespace

TEST_CASE("one address of RoCE adapters in two pods") {
  const auto of = [](const std::string& first, const std::string& second) {
    return severity_in(plan("[" + first + ", " + second + "]"),
                       "same_rdma_address");
  };
  const char* host = R"(, "host_network": true)";
  CHECK(of(roce("a", "n0", "10.1.0.5"), roce("b", "n1", "10.1.0.5")) ==
        "error");
  CHECK(of(roce("a", "n0", "10.1.0.5"), roce("b", "n1", "10.1.0.6")).empty());
  // On one node they may have the adapter in common.
  CHECK(of(roce("a", "n0", "10.1.0.5"), roce("b", "n0", "10.1.0.5")).empty());
  // Written down once for all, perhaps.
  CHECK(of(roce("a", "", "10.1.0.5"), roce("b", "n1", "10.1.0.5")) == "info");
  CHECK(of(roce("a", "", "10.1.0.5", host), roce("b", "", "10.1.0.5", host))
            .empty());
  CHECK(of(roce("a", "n0", "10.1.0.5", host),
           roce("b", "n1", "10.1.0.5", host)) == "error");
}

TEST_CASE("one address of RoCE adapters whose tables are not known") {
  const auto of = [](const char* node, const char* net1) {
    const auto pod = [&](const char* name, const char* more) {
      return std::string(R"({"name": ")") + name + "\"" + more +
             R"(, "hcas": ["mlx5_0 RoCE ACTIVE net1"], "netdevs": ["net1 )" +
             net1 + "\"]}";
    };
    return severity_in(
        plan("[" + pod("a", R"(, "node": "n0")") + ", " + pod("b", node) + "]"),
        "same_rdma_address");
  };
  CHECK(of(R"(, "node": "n1")", "10.56.217.171/24") == "error");
  CHECK(of("", "10.56.217.171/24") == "info");
  CHECK(of(R"(, "node": "n0")", "10.56.217.171/24").empty());
  CHECK(of(R"(, "node": "n1")", "fe80::1/64").empty());
}

TEST_CASE("the clash of addresses does not hang on the pods' order") {
  const std::string loose = roce("a", "", "10.1.0.5");
  const std::string here = roce("b", "n0", "10.1.0.5");
  const std::string there = roce("c", "n1", "10.1.0.5");
  for (const std::string& jobs :
       {loose + "," + here + "," + there, here + "," + loose + "," + there,
        there + "," + here + "," + loose}) {
    CHECK(plan("[" + jobs + "]").verdict == FabricVerdict::kRefuse);
  }
}

TEST_CASE("one address for TCP on two nodes") {
  const auto of = [](const char* node) {
    return plan(std::string(R"([{"name": "a", "node": "n0", "hcas": [],
        "netdevs": ["eth0 10.4.0.2/16"]}, {"name": "b", "node": ")") +
                node + R"(", "hcas": [], "netdevs": ["eth0 10.4.0.2/16"]}])");
  };
  CHECK(severity_in(of("n1"), "same_address") == "error");
  CHECK(severity_in(of(""), "same_address") == "info");
  CHECK(severity_in(of("n0"), "same_address").empty());
}

TEST_CASE("interfaces of a list that have no address") {
  const auto of = [](const char* list, const char* netdevs,
                     const char* version = R"("nccl_version": "2.27.7",)") {
    return severity_in(plan(std::string(R"([{"name": "w[0-1]", "hcas": [], )") +
                            version + R"("environment":
        {"NCCL_SOCKET_IFNAME": ")" +
                            list + R"("}, "netdevs": [)" + netdevs + "]}]"),
                       "lint_no_address");
  };
  const char* wired = R"({"name": "enp4s0", "up": true, "running": false},
      "wlp5s0 192.168.0.[10-11]/24 default")";
  CHECK(of("en,eth", wired) == "error");
  CHECK(of("en,eth", wired, "") == "warning");  // no NCCL, as far as one knows
  CHECK(of("en,wl", wired).empty());
  CHECK(of("=wlp5s0", wired).empty());
  CHECK(of("^wl", wired) == "error");
  // Not told is not missing: no address of any interface, nothing but a name,
  // or the one with the default route.
  CHECK(of("en", R"({"name": "enp4s0", "up": true})").empty());
  CHECK(of("en", R"("enp4s0", "wlp5s0 192.168.0.[10-11]/24 default")").empty());
  CHECK(of("en", R"({"name": "enp4s0", "default_route": true},
      "docker0 172.17.0.1/16", "ens9 10.0.0.[4-5]/24")")
            .empty());
  CHECK(of("en", R"({"name": "enp4s0", "up": true},
      "wlp5s0 192.168.0.[10-11]/24 default")") == "error");
}

namespace {

std::string rails(const char* name, const char* last, const char* subnets,
                  const std::string& more) {
  const std::string first(1, subnets[0]);
  const std::string second(1, subnets[1]);
  const auto hca = [&](const char* number, const std::string& subnet) {
    return std::string(R"({"name": "mlx5_)") + number +
           R"(", "link_layer": "Ethernet", "state": "ACTIVE", "netdev": "net)" +
           number + R"(", "gids": ["3 v2 10.)" + subnet + ".0." + last + "\"]}";
  };
  const auto netdev = [&](const char* number, const std::string& subnet) {
    return std::string("\"net") + number + " 10." + subnet + ".0." + last +
           "/24\"";
  };
  return std::string(R"({"name": ")") + name +
         R"(", "nccl_version": "2.27.7", "gpus": [], "hcas": [)" +
         hca("0", first) + ", " + hca("1", second) + R"(], "netdevs": [)" +
         netdev("0", first) + ", " + netdev("1", second) + "]" + more + "}";
}

}  // namespace

TEST_CASE("UCX 1.18 and 1.19 do not heed a default gateway") {
  constexpr const char* kMode = "UCX_IB_ROCE_REACHABILITY_MODE";
  const auto mode = [&](const char* version, const char* others,
                        const char* more = "") {
    const std::string ucx =
        std::string(R"(, "ucx": ")") + version + "\"" + more;
    return value(plan("[" + rails("a", "4", "12", ucx) + ", " +
                      rails("b", "5", others, ucx) + "]"),
                 1, kMode);
  };
  CHECK(mode("1.19.0", "34") == "all");
  CHECK(mode("1.18.1", "34") == "all");
  CHECK(mode("1.17.0", "34").empty());
  CHECK(mode("1.20.0", "34").empty());
  CHECK(mode("1.19.0", "12").empty());  // they meet without a router
  CHECK(mode("1.19.0", "34", R"(, "cross_rail": false)").empty());
}

TEST_CASE("UCX takes one rail where rails do not reach each other") {
  const auto device = [](const std::string& more, const char* subnets = "12") {
    const std::string apart = R"(, "cross_rail": false)" + more;
    const FabricPlan both = plan("[" + rails("a", "4", subnets, apart) + ", " +
                                 rails("b", "5", "12", apart) + "]");
    return value(both, 0, "UCX_NET_DEVICES");
  };
  const char* ucx = R"(, "ucx": "1.15.0")";
  CHECK(device(ucx) == "mlx5_0:1");
  CHECK(device(ucx, "21") == "mlx5_1:1");  // by subnet, not by name
  CHECK(device("").empty());               // no UCX, as far as one knows
  CHECK(device(std::string(ucx) + R"(, "environment": "UCX_TLS=tcp")").empty());
  const std::string users =
      std::string(ucx) + R"(, "environment": "UCX_NET_DEVICES=mlx5_1:1")";
  CHECK(device(users).empty());
  const FabricPlan kept = plan(
      "[" + rails("a", "4", "12", R"(, "cross_rail": false)" + users) + ", " +
      rails("b", "5", "12", R"(, "cross_rail": false)" + users) + "]");
  CHECK(!found(kept, "user_value_kept"));
}

TEST_CASE("GPUDirect-TCPX by the names that its interfaces have") {
  const auto of = [](const char* network, const char* first) {
    return plan(std::string(R"([{"name": "w[0-1]", "vendor": "Google",
        "gpus": 8, "hcas": [], "plugins": [{"name": "libnccl-net.so",
        "network": ")") +
                network + R"("}], "netdevs": [")" + first +
                R"( 10.0.0.[6-7]/32 default", "docker0 172.17.0.1/16",
        "enp6s0 10.0.1.[4-5]/32", "enp12s0 10.0.2.[4-5]/32"]}])");
  };
  constexpr const char* kData = "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME";
  const FabricPlan host = of("GPUDirectTCPX_v7", "enp0s12");
  CHECK(value(host, 0, "NCCL_GPUDIRECTTCPX_CTRL_DEV") == "enp0s12");
  CHECK(value(host, 0, "NCCL_SOCKET_IFNAME") == "=enp0s12");
  CHECK(value(host, 0, kData) == "enp6s0,enp12s0");
  CHECK(host.verdict == FabricVerdict::kSet);
  CHECK(of("GPUDirectTCPX_v7", "eth0").verdict == FabricVerdict::kLeave);
  CHECK(of("FasTrak", "enp0s12").verdict == FabricVerdict::kLeave);
}

TEST_CASE("one pod whose adapters nobody looked for") {
  const auto of = [](const char* pods) {
    return severity_in(plan(std::string("[") + pods + "]"), "fabric_unknown");
  };
  CHECK(of(R"({"name": "a", "gpus": 8})") == "info");
  CHECK(of(R"({"name": "w[0-1]", "gpus": 8})") == "warning");
  CHECK(of(R"({"name": "a", "netdevs": ["eth0 10.0.0.7/24"]})") == "warning");
  CHECK(of(R"({"name": "a", "gpus": 8, "hcas": [{"name": "mlx5_0",
      "state": "ACTIVE"}]})") == "warning");
}
