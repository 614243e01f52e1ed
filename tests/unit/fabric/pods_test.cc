// SPDX-License-Identifier: Apache-2.0
// Rules about what pods are to each other: addresses and MTUs that do not fit,
// launchers among workers, an NCCL that reads less than today's.
#include <string>

#include "fabric/plan_json.h"
#include "plan_of.h"

using namespace muster;

TEST_CASE("pods that listen on addresses of different families") {
  const auto with = [](const char* first, const char* second,
                       const char* more = "") {
    return plan(
        std::string(R"([{"name": "a", "hcas": [], "netdevs": ["eth0 )") +
        first + R"("]}, {"name": "b", "hcas": [], "netdevs": ["eth0 )" +
        second + "\"]" + more + "}]");
  };
  const FabricPlan both = with("10.0.0.1/24 fd00::1/64", "fd00::2/64");
  CHECK(value(both, 0, "NCCL_SOCKET_FAMILY") == "AF_INET6");
  CHECK(value(both, 1, "NCCL_SOCKET_FAMILY") == "AF_INET6");
  CHECK(found(with("10.0.0.1/24", "fd00::2/64"), "socket_family_differs"));
  for (const FabricPlan& fine :
       {with("10.0.0.1/24 fd00::1/64", "10.0.0.2/24"),
        with("fd00::1/64", "fd00::2/64"), with("10.0.0.1/24", "fe80::2/64"),
        with("10.0.0.1/24", "fd00::2/64",
             R"(, "environment": "NCCL_SOCKET_FAMILY=AF_INET6")")}) {
    CHECK(!found(fine, "socket_family_differs"));
    CHECK(value(fine, 0, "NCCL_SOCKET_FAMILY").empty());
  }
}

TEST_CASE("one address in several pods") {
  const auto with = [](const char* address, const char* more = "") {
    return plan(std::string(R"([{"name": "w[0-1]", "hcas": [], "netdevs":
                ["eth0 )") +
                address + "\"]" + more + "}]");
  };
  CHECK(with("172.17.0.2/16").verdict == FabricVerdict::kRefuse);
  CHECK(with("172.17.0.[2-3]/16").verdict == FabricVerdict::kTcp);
  // Written down once for all, perhaps: said, and nothing more.
  CHECK(found(with("10.4.0.2/16"), "same_address"));
  CHECK(with("10.4.0.2/16").verdict == FabricVerdict::kTcp);
  CHECK(
      !found(with("10.4.0.2/16", R"(, "host_network": true)"), "same_address"));
}

TEST_CASE("ports whose active MTU differs between pods") {
  const auto with = [](const char* version, const char* mtu) {
    return plan(std::string(R"([{"name": "w[0-1]", "nccl_version": ")") +
                version + R"(", "hcas": [{"name": "mlx5_0", "link_layer":
                "InfiniBand", "mtu": )" +
                mtu + "}]}]");
  };
  CHECK(with("2.27.7", "\"[4096,2048]\"").verdict == FabricVerdict::kWarn);
  CHECK(with("2.18.6", "\"[4096,2048]\"").verdict == FabricVerdict::kLeave);
  CHECK(found(with("2.30.7", "\"[4096,2048]\""), "mtu_differs"));
  CHECK(!found(with("2.27.7", "4096"), "mtu_differs"));
}

TEST_CASE("no variable is set that this NCCL does not read") {
  const auto with = [](const char* version) {
    return plan(
        std::string(R"([{"name": "a", "nccl_version": ")") + version +
        R"(", "hcas": ["mlx5_0 IB"]}, {"name": "b", "nccl_version": ")" +
        version + R"(", "hcas": []}])");
  };
  CHECK(value(with("2.9.9"), 0, "NCCL_IB_DISABLE") == "1");
  CHECK(value(with("2.9.9"), 0, "NCCL_NET").empty());
  CHECK(value(with("2.10.3"), 0, "NCCL_NET") == "Socket");
  const auto bond = [](const char* version) {
    return value(plan(std::string(R"([{"name": "w[0-1]", "nccl_version": ")") +
                      version + R"(", "hcas": ["mlx5_bond_0 RoCE"]}])"),
                 0, "NCCL_IB_QPS_PER_CONNECTION");
  };
  CHECK(bond("2.9.9").empty());
  CHECK(bond("2.21.5") == "2");
}

TEST_CASE("a level of the user's that reaches the adapters is enough") {
  const auto with = [](const char* level) {
    return found(plan(std::string(R"([{"name": "vm[0-1]", "gpus": [{"name":
                      "H100", "nics": {"mlx5_0": "PHB", "mlx5_1": "SYS"}}],
                      "hcas": ["mlx5_[0-1] IB"], "environment":
                      "NCCL_NET_GDR_LEVEL=)") +
                      level + "\"}]"),
                 "topology_flat");
  };
  CHECK(!with("SYS"));
  CHECK(!with("3"));  // PHB, by NCCL's old numbers
  CHECK(with("PXB"));
}

TEST_CASE("a launcher of which little is known takes no worker's RDMA") {
  const auto with = [](const char* launcher, const char* workers) {
    return plan(std::string("[") + launcher + R"(, {"name": "w[0-1]", "gpus": 8,
                "nccl_version": "2.26.2")" +
                workers + "}]");
  };
  const char* ib = R"(, "hcas": ["mlx5_[0-7] IB"])";
  for (const char* launcher :
       {R"({"name": "pi-launcher", "gpus": [], "hcas": []})",
        R"({"name": "pi-launcher", "hcas": []})",
        R"({"name": "pi-launcher"})"}) {
    INFO(launcher);
    CHECK(with(launcher, ib).transport == "InfiniBand");
    CHECK(value(with(launcher, ib), 1, "NCCL_NET").empty());
    CHECK(with(launcher, "").transport == "unknown");
    CHECK(value(with(launcher, ""), 1, "NCCL_NET").empty());
  }
  CHECK(
      with(R"({"name": "pi-launcher", "gpus": 8, "hcas": []})", ib).transport ==
      "TCP");
  CHECK(with(R"({"name": "w9", "hcas": []})", ib).transport == "TCP");
}

TEST_CASE("rails are known by their addresses where interfaces are not") {
  const FabricPlan three = plan(R"([{"name": "a", "hcas": [
      {"name": "mlx5_[0-3]", "link_layer": "Ethernet",
       "gids": ["3 v2 10.1.[0-3].7"]}]}, {"name": "b", "hcas": [
      {"name": "mlx5_[6,7,9]", "link_layer": "Ethernet",
       "gids": ["3 v2 10.1.[0,1,3].8"]}]}])");
  CHECK(value(three, 0, "NCCL_IB_HCA") == "=mlx5_0,mlx5_1,mlx5_3");
}

TEST_CASE("adapters of which nobody said what they are") {
  const auto with = [](const char* hcas) {
    return plan(std::string(R"([{"name": "w[0-1]", "hcas": [)") + hcas + "]}]");
  };
  // As their likes, where most of these are known.
  const FabricPlan likes = with(R"("mlx5_[0-2,4-7] IB 400", "mlx5_3 400")");
  CHECK(likes.transport == "InfiniBand");
  CHECK(likes.pods[0].env().empty());
  // A front end that is told does not become the network of eight that are not.
  const FabricPlan front = with(R"("mlx5_[0-7] 400", "mlx5_8 Ethernet 100")");
  CHECK(front.transport == "unknown");
  CHECK(front.pods[0].env().empty());
  CHECK(found(front, "fabric_unknown"));
  CHECK(with(R"("mlx5_[0-7] IB 400", "mlx5_8 100")").transport == "InfiniBand");
  // Nor because it alone has a rate.
  CHECK(with(R"("mlx5_[0-7] IB", "mlx5_8 Ethernet 100")").transport ==
        "InfiniBand");
  CHECK(with(R"("mlx5_[0-7]", "mlx5_8 Ethernet 100")").transport == "unknown");
}

TEST_CASE("NCCL compares all of its version since 2.23") {
  const auto with = [](const char* first, const char* second) {
    return plan(
               std::string(R"([{"name": "a", "nccl_version": ")") + first +
               R"(", "hcas": ["mlx5_0 IB"]}, {"name": "b", "nccl_version": ")" +
               second + R"(", "hcas": ["mlx5_0 IB"]}])")
               .verdict == FabricVerdict::kRefuse;
  };
  CHECK(with("2.27.3", "2.27.5+cuda12.9"));
  CHECK(with("2.26.2", "2.27.5"));
  CHECK(!with("2.21.3", "2.21.5"));
  CHECK(!with("2.27", "2.27.5"));  // nobody said which
  CHECK(!with("2.27.5+cuda12.9", "2.27.5-1"));
}

TEST_CASE("what a user's list takes beside the job's adapters") {
  const auto with = [](const char* list) {
    return found(plan(std::string(R"([{"name": "w[0-1]", "environment":
                      "NCCL_IB_HCA=)") +
                      list + R"(", "hcas":
                      ["mlx5_[0-1] IB 400", "mlx5_2 Ethernet 100"]}])"),
                 "lint_prefix");
  };
  CHECK(with("mlx5"));
  CHECK(with("^mlx5_1"));
  CHECK(!with("mlx5_0,mlx5_1"));
  CHECK(!with("mlx5_0,mlx5_2"));  // by name: the user knows
}

TEST_CASE("a plan's text has no control bytes") {
  const FabricPlan odd = plan(R"([{"name": "w[0-1]", "hcas": [],
      "environment": {"NCCL_SOCKET_IFNAME": "eth0\u001b[2J\r"},
      "netdevs": ["eth0 10.0.0.[1-2]/24"]}])");
  for (const std::string& text : {plan_to_text(odd), explain_plan(odd)}) {
    CHECK(text.find('\x1b') == text.npos);
    CHECK(text.find('\r') == text.npos);
    CHECK(text.find("eth0?[2J?") != text.npos);
  }
}

TEST_CASE("what explain says of pods that differ in what was seen") {
  const FabricPlan two = plan(R"([
      {"name": "a", "nccl_version": "2.26.2", "environment":
       {"NCCL_SOCKET_IFNAME": "eth1", "UCX_TLS": "tcp"},
       "hcas": [{"name": "mlx5_0",
       "link_layer": "Ethernet", "state": "ACTIVE", "fails_at": "qp",
       "error": "EINVAL"}], "netdevs": ["eth0 10.0.0.1/24 default",
       "eth1 10.1.0.1/24"]},
      {"name": "b", "nccl_version": "2.26.2", "environment":
       {"NCCL_SOCKET_IFNAME": "eth1"}, "hcas": [], "netdevs":
       ["eth0 10.0.0.2/24 default", "eth1 10.1.0.2/24"]}])");
  const std::string text = explain_plan(two);
  const auto says = [&](const char* part) {
    INFO(text);
    CHECK(text.find(part) != text.npos);
  };
  says("\na\n");  // each by itself: b has no adapter
  says("\nb\n");
  says("TCP over eth1: NCCL_SOCKET_IFNAME=eth1 (");  // not muster's choice
  says("alone: IB on mlx5_0, which does not work");
  says("alone: Socket, found out in each process");
  says("  UCX_TLS=tcp kept (");
  // What hides the adapters from MPI names the adapters, not the interface.
  const auto& settings = two.pods[0].settings;
  const auto pml = std::find_if(
      settings.begin(), settings.end(),
      [](auto& setting) { return setting.name == "OMPI_MCA_pml"; });
  REQUIRE(pml != settings.end());
  CHECK(pml->evidence.find("mlx5_0") != std::string::npos);
}

TEST_CASE("MPI's interface beside what the user gave NCCL and Open MPI") {
  const auto with = [](const char* environment) {
    return plan(std::string(R"([{"name": "w[0-1]", "gpus": 2, "hcas": [],
        "mpi": "Open MPI 4.1.5", "netdevs": ["em1 10.0.0.[1-2]/24 default",
        "em3 10.1.0.[1-2]/24", "docker0 172.17.0.1/16"], "environment": ")") +
                environment + "\"}]");
  };
  const char* const include = "OMPI_MCA_btl_tcp_if_include";
  CHECK(value(with(""), 0, include) == "em1");
  const FabricPlan users = with("NCCL_SOCKET_IFNAME=em3");
  CHECK(value(users, 1, include) == "em3");
  CHECK(plan_to_text(users).find("btl_tcp_if_include em3") !=
        std::string::npos);
  // Not what nobody reaches, nor one of several.
  CHECK(value(with("NCCL_SOCKET_IFNAME=docker0"), 0, include) == "em1");
  CHECK(value(with("NCCL_SOCKET_IFNAME=em"), 0, include) == "em1");
  // Beside a list of what to leave out Open MPI would use no TCP.
  const FabricPlan excluded = with("OMPI_MCA_btl_tcp_if_exclude=lo,docker0");
  CHECK(value(excluded, 0, include).empty());
  CHECK(plan_to_text(excluded).find("if_include") == std::string::npos);
}

TEST_CASE("IPoIB in which all pods meet is where NCCL starts") {
  const auto with = [](const char* route, const char* ib0) {
    return plan(std::string(R"([{"name": "w[0-1]", "nccl_version": "2.26.2",
        "hcas": ["mlx5_0 IB 400"], "netdevs": ["eth0 10.0.0.[1-2]/24)") +
                route + R"(", "ib0 )" + ib0 + R"("]}])");
  };
  const char* together = "10.1.0.[1-2]/24";
  CHECK(value(with("", together), 0, "NCCL_SOCKET_IFNAME").empty());
  CHECK(with("", together).pods[0].interface == "ib0");
  // The default route says more than a name, and less than a network of all.
  CHECK(value(with(" default", together), 0, "NCCL_SOCKET_IFNAME").empty());
  for (const char* apart :
       {"10.1.[0-1].1/24", "10.1.0.1/24", "fe80::[1-2]/64"}) {
    CHECK(value(with(" default", apart), 0, "NCCL_SOCKET_IFNAME") == "=eth0");
  }
}

TEST_CASE("a list that names both an interface and one that begins like it") {
  const auto with = [](const char* list) {
    return found(plan(std::string(R"([{"name": "w[0-1]", "gpus": 2, "hcas": [],
        "netdevs": ["eth0 10.0.0.[1-2]/24 default", "eth3 10.3.0.[1-2]/24",
        "eth3.10 10.4.0.[1-2]/24"], "environment": "NCCL_SOCKET_IFNAME=)") +
                      list + "\"}]"),
                 "lint_prefix");
  };
  CHECK(with("^lo,docker0,eth3"));
  CHECK(!with("^lo,docker0,eth3.10,eth3"));
}

TEST_CASE("one finding says of all pods which adapters a list misses") {
  const auto told = [](const char* list, const char* second) {
    std::vector<std::string> out;
    for (const Finding& finding :
         plan(std::string(R"([{"name": "a", "hcas": ["mlx5_2 IB"],
             "environment": {"NCCL_IB_HCA": ")") +
              list + R"("}}, {"name": "b", "hcas": [")" + second +
              R"( IB"], "environment": {"NCCL_IB_HCA": ")" + list + "\"}}]")
             .findings) {
      if (finding.code == "lint_matches_nothing") {
        out.push_back(finding.text + ": " + finding.remedy);
      }
    }
    return out;
  };
  CHECK(told("mlx5_0", "mlx5_5") ==
        std::vector<std::string>{
            "all pods: NCCL_IB_HCA=mlx5_0 matches none of mlx5_2; mlx5_5: "
            "correct the names, or remove it"});
  CHECK(told("mlx5_2", "rdma1") ==
        std::vector<std::string>{
            "b: NCCL_IB_HCA=mlx5_2 matches none of rdma1: "
            "NCCL_IB_HCA=mlx5_2,rdma1 in all pods, or remove it"});
}

TEST_CASE("a port without a routable address beside others that have one") {
  // Two pods at one switch: it may do. The list of others stays.
  const auto with = [](const char* list) {
    return plan(std::string(R"([{"name": "w[0-1]", "nccl_version": "2.28.9",
      "environment": {"NCCL_IB_HCA": ")") +
                list + R"("}, "hcas": [
      {"name": "mlx5_0", "link_layer": "Ethernet", "state": "ACTIVE",
       "netdev": "net0", "gids": ["v1 fe80::[1-2]", "v2 fe80::[1-2]",
                                  "v1 10.1.0.[1-2]", "v2 10.1.0.[1-2]"]},
      {"name": "mlx5_1", "link_layer": "Ethernet", "state": "ACTIVE",
       "netdev": "net1", "gids": ["v1 fe80::[3-4]", "v2 fe80::[3-4]"]}],
      "netdevs": ["net0 10.1.0.[1-2]/24", "net1 fe80::[3-4]/64",
                  "eth0 10.0.0.[1-2]/24 default"]}])");
  };
  const FabricPlan both = with("=mlx5_0,mlx5_1");
  CHECK(both.verdict == FabricVerdict::kWarn);
  CHECK(found(both, "lint_unusable_port"));
  CHECK(!found(both, "user_value_kept"));
  CHECK(value(both, 0, "NCCL_IB_GID_INDEX").empty());
  // A prefix, or what an exclusion leaves: said in another way, once.
  for (const char* list : {"mlx5", "^mlx5_9"}) {
    INFO(list);
    CHECK(found(with(list), "lint_prefix"));
    CHECK(!found(with(list), "lint_unusable_port"));
    CHECK(!found(with(list), "user_value_kept"));
    CHECK(value(with(list), 0, "NCCL_IB_GID_INDEX").empty());
  }
}

TEST_CASE("the reason for a network says what it was chosen among") {
  const std::string ib =
      R"({"name": "mlx5_9", "link_layer": "InfiniBand", "state": "ACTIVE"})";
  const std::string roce = R"({"name": "mlx5_0", "link_layer": "Ethernet",
      "state": "ACTIVE", "gids": ["3 v2 10.1.0.)";
  const auto pod = [&](const std::string& last, const std::string& more) {
    return R"({"name": "p)" + last + R"(", "hcas": [)" + roce + last +
           R"("]})" + more + "]}";
  };
  const auto reason = [](const std::string& one, const std::string& other) {
    return plan("[" + one + "," + other + "]").transport_reason;
  };
  CHECK(reason(pod("1", ""), pod("2", "")) == "every pod has it");
  CHECK(reason(pod("1", "," + ib), pod("2", "")) ==
        "the only one that every pod has");
  CHECK(reason(pod("1", "," + ib), pod("2", "," + ib)) ==
        "the best of those that every pod has");
}
