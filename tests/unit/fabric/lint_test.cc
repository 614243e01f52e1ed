// SPDX-License-Identifier: Apache-2.0
// The checks of users' variables, one line each: on which network, with which
// NCCL, what must be said of a value; and what must not.
#include <algorithm>
#include <set>
#include <string>

#include "base/text.h"
#include "catch.h"
#include "fabric/facts/facts_json.h"
#include "fabric/facts/named_files.h"
#include "fabric/policy/policy.h"
#include "fabric/policy/settings/nccl_variables.h"

using namespace muster;

namespace {

constexpr const char* kIb = R"("hcas": [{"name": "mlx5_[0-1]",
  "state": "ACTIVE", "link_layer": "InfiniBand", "rate_gbps": 400}])";
constexpr const char* kRoce = R"("hcas": [{"name": "mlx5_0",
  "state": "ACTIVE", "link_layer": "Ethernet", "gids": ["v1 fe80::1",
  "v2 fe80::1", "v1 10.1.0.1", "v2 10.1.0.1"]}])";
constexpr const char* kEfa = R"("vendor": "Amazon EC2", "plugins":
  [{"name": "libnccl-net.so", "network": "AWS Libfabric"}], "hcas":
  [{"name": "rdmap0s0", "driver": "efa", "state": "ACTIVE"}])";
constexpr const char* kTcp = R"("hcas": [])";

// The codes that were found because of the variable, in alphabetical order.
std::string codes(const char* network, const std::string& version,
                  const std::string& variable, const std::string& more = "") {
  const auto findings = [&](const std::string& variables) {
    const std::string text =
        R"([{"name": "w[0-1]", "nccl_version": ")" + version + "\", " +
        network + more + R"(, "environment": [)" + variables +
        R"(], "netdevs": [{"name": "lo", "addresses": ["127.0.0.1/8"]},
            {"name": "eth0", "addresses": ["10.0.0.[1-2]/24"],
             "default_route": true}]}])";
    const auto facts = read_facts(text, "test");
    if (!facts) FAIL(facts.error().text());
    std::set<std::string> out;
    for (auto& finding : plan_fabric(facts->pods, {}).findings) {
      if (finding.code != "lint_debugging") out.insert(finding.code);
    }
    return out;
  };
  const auto before = findings("");
  std::vector<std::string> added;
  for (auto& code : findings('"' + variable + '"')) {
    if (!before.contains(code)) added.push_back(code);
  }
  return join(added, " ");
}

}  // namespace

TEST_CASE("names that NCCL does not read") {
  CHECK(codes(kIb, "2.21.5", "NCCL_IB_CUDA_SUPPORT=1") == "lint_obsolete");
  CHECK(codes(kIb, "2.21.5", "NCCL_TREE_THRESHOLD=0") == "lint_obsolete");
  CHECK(codes(kIb, "2.20.5", "NCCL_IB_FIFO_TC=1") == "lint_no_effect");
  CHECK(codes(kIb, "2.26.2", "NCCL_CTA_POLICY=1") == "lint_no_effect");
  CHECK(codes(kIb, "2.21.5", "NCCL_SOCKER_IFNAME=x") == "lint_unknown_name");
  CHECK(codes(kIb, "2.21.5", "NCCL_EXCLUDE_IB_HCA=x") == "lint_unknown_name");
  CHECK(codes(kIb, "2.21.5", "NCCL_IB_HCA_EXCLUDED=x") == "lint_unknown_name");
  CHECK(codes(kIb, "2.21.5", "CCL_NET_GDR_LEVEL=SYS") == "lint_unknown_name");
  CHECK(codes(kIb, "2.21.5", "nccl_IB_HCA=mlx5") == "lint_unknown_name");
  CHECK(codes(kIb, "2.21.5", "CCL_ATL_TRANSPORT=ofi").empty());
  for (const char* others :
       {"NCCL_VERSION=2.21.5-1", "NCCL_ASYNC_ERROR_HANDLING=1",
        "NCCL_FASTRAK_IFNAME=eth1", "NCCL_HOME=/usr", "NCCL_SHARP_DISABLE=1",
        "NCCL_TESTS_DEVICE=0", "NCCL_DEBUG=", "NCCL_DYNAMIC_CHUNK_SIZE=1"}) {
    CHECK(codes(kIb, "2.21.5", others).empty());
  }
}

TEST_CASE("Gloo takes whole names of interfaces that are there") {
  const auto gloo = [](const std::string& value) {
    return codes(kIb, "2.21.5", "GLOO_SOCKET_IFNAME=" + value);
  };
  for (const char* wrong :
       {"^lo,docker", "=eth0", "eth", "eth1", "lo", "eth0,eth1"}) {
    INFO(wrong);
    CHECK(gloo(wrong) == "lint_gloo_interface");
  }
  CHECK(gloo("eth0").empty());
  CHECK(gloo("").empty());
}

TEST_CASE("a graph file is for one machine") {
  CHECK(codes(kIb, "2.21.5", "NCCL_GRAPH_FILE=/g.xml") == "lint_graph_file");
  CHECK(codes(kIb, "2.21.5", "NCCL_GRAPH_FILE=").empty());
}

TEST_CASE("values that NCCL reads otherwise than they look") {
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_DISABLE=true") == "lint_range");
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_TIMEOUT=0x16").empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_TIMEOUT=60") == "lint_range");
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_SL=-1").empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_PROTO=^LL128").empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_PROTO=LL12") == "lint_word");
  CHECK(
      codes(kIb, "2.26.2", "NCCL_ALGO=allreduce:tree;broadcast:ring").empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_ALGO=Tree") == "lint_algorithm");
  CHECK(codes(kIb, "2.21.5", "NCCL_ALGO=Tree").empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_ALGO=Tree,Ring").empty());
  CHECK(codes(kTcp, "2.26.2", "NCCL_SOCKET_FAMILY=ipv6") == "lint_word");
  CHECK(codes(kTcp, "2.26.2", "NCCL_SOCKET_FAMILY=AF_INET6") ==
        "lint_socket_family");
  CHECK(codes(kTcp, "2.26.2",
              R"(NCCL_SOCKET_NTHREADS=8", "NCCL_NSOCKS_PERTHREAD=16)") ==
        "lint_range");
}

TEST_CASE("a chunk is no longer than a step of a send") {
  CHECK(codes(kIb, "2.26.2", "NCCL_CHUNK_SIZE=131072").empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_CHUNK_SIZE=131073") == "lint_chunk");
  CHECK(codes(kIb, "2.26.2",
              R"(NCCL_CHUNK_SIZE=524288", "NCCL_P2P_NET_CHUNKSIZE=524288)")
            .empty());
  // A buffer has room for eight steps.
  CHECK(codes(kIb, "2.26.2",
              R"(NCCL_CHUNK_SIZE=1048576", "NCCL_P2P_NET_CHUNKSIZE=1048576)") ==
        "lint_chunk");
}

TEST_CASE("values that do not fit the network") {
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_GID_INDEX=3") == "lint_no_effect");
  CHECK(codes(kEfa, "2.26.2", "NCCL_IB_HCA=rdmap") == "lint_no_effect");
  CHECK(codes(kTcp, "2.26.2", "NCCL_IB_TC=106") == "lint_no_effect");
  CHECK(codes(kRoce, "2.26.2", "NCCL_IB_GID_INDEX=3").empty());
  CHECK(codes(kRoce, "2.26.2", "NCCL_IB_GID_INDEX=1") == "lint_gid_index");
  CHECK(codes(kRoce, "2.26.2", "NCCL_IB_ADDR_RANGE=10.1.0.0/16").empty());
  CHECK(codes(kRoce, "2.26.2", "NCCL_IB_ADDR_RANGE=10.2.0.0/16") ==
        "lint_gid_range");
  CHECK(codes(kRoce, "2.26.2", "NCCL_IB_ADDR_FAMILY=AF_INET6") ==
        "lint_gid_range");
  CHECK(codes(kTcp, "2.26.2", "NCCL_SOCKET_IFNAME=lo") == "lint_loopback");
  CHECK(codes(kTcp, "2.26.2", "NCCL_SOCKET_IFNAME=").empty());
}

TEST_CASE("ranges of addresses that NCCL reads otherwise") {
  const auto range = [](const std::string& value, const char* more = "") {
    return codes(kRoce, "2.26.2", "NCCL_IB_ADDR_RANGE=" + value + more);
  };
  CHECK(range("10.1.0.0/16,10.2.0.0/16") == "lint_range_form");
  CHECK(range("10.2.0.0/16,10.1.0.0/16") == "lint_gid_range lint_range_form");
  CHECK(range("10.1.0.1") == "lint_range_form");
  CHECK(range("10.1.0/24") == "lint_range_form");
  CHECK(range("/24") == "lint_range_form");
  CHECK(range("10.1.0.0/33") == "lint_range_form");
  CHECK(range("10.1.0.0/x") == "lint_range_form");
  CHECK(range("fd00::/16") == "lint_range_form");
  CHECK(range("10.1.0.0/0").empty());
}

TEST_CASE("a prefix that takes several interfaces") {
  const auto said = [](const std::string& value, const char* rails,
                       const char* hcas, const char* profile = "") {
    const auto facts = read_facts(
        R"([{"name": "w[0-1]", "nccl": "2.26.2", )" + std::string(hcas) +
            R"(, "netdevs": [{"name": "eth0", "addresses":
            ["10.0.0.[1-2]/24"], "default_route": true}, )" +
            rails + R"(], "environment": ["NCCL_SOCKET_IFNAME=)" + value +
            R"("]}])",
        "test");
    if (!facts) FAIL(facts.error().text());
    FabricRequest request;
    request.profile = parse_profile(profile).value();
    std::string out;
    for (auto& finding : plan_fabric(facts->pods, request).findings) {
      if (finding.code.starts_with("lint_")) {
        out += finding.code +
               (finding.text.find("eth0, eth1") != std::string::npos ? " named "
                                                                     : " ");
      }
    }
    return out;
  };
  const char* apart = R"({"name": "eth1", "addresses": ["172.16.[1-2].1/24"]})";
  const char* shared =
      R"({"name": "eth1", "addresses": ["172.16.1.[1-2]/24"]})";
  CHECK(said("eth", apart, kTcp) == "lint_several_interfaces named ");
  CHECK(said("eth0,eth1", apart, kTcp).empty());  // there may be routes
  const char* bridge = R"({"name": "eth1", "addresses": ["172.17.0.1/16"]})";
  CHECK(said("eth0,eth1", bridge, kTcp) == "lint_several_interfaces named ");
  CHECK(said("eth", apart, kIb, "grpo").starts_with("lint_several_interfaces"));
  CHECK(said("eth", shared, kTcp).empty());  // all pods meet on both
  CHECK(said("eth", apart, kIb).empty());    // the bootstrap takes the first
  CHECK(said("=eth0", apart, kTcp).empty());
  CHECK(said("e", R"({"name": "eth1"})", kTcp).empty());  // no address
}

TEST_CASE("NVLink between machines goes by cuMem") {
  const auto rack = [](const char* variable, const char* imex) {
    return codes(
        kIb, "2.27.7", variable,
        std::string(R"(, "gpus": "4x NVIDIA GB200", "imex_channel": )") + imex);
  };
  CHECK(rack("NCCL_CUMEM_ENABLE=0", "true") == "lint_mnnvl_off");
  CHECK(rack("NCCL_MNNVL_ENABLE=0", "true") == "lint_mnnvl_off");
  CHECK(rack("NCCL_CUMEM_ENABLE=1", "true").empty());
  CHECK(rack("NCCL_MNNVL_ENABLE=0", "false").find("mnnvl_off") ==
        std::string::npos);
  CHECK(codes(kIb, "2.27.7", "NCCL_CUMEM_ENABLE=0", R"(, "gpus": "8x H100")")
            .empty());
}

TEST_CASE("networks and plugins that are not there") {
  const std::string none = R"(, "plugins": [])";
  CHECK(codes(kIb, "2.26.2", "NCCL_NET=gIB", none) == "lint_net_name");
  CHECK(codes(kIb, "2.26.2", "NCCL_NET=IB", none).empty());
  CHECK(codes(kEfa, "2.26.2", "NCCL_NET=IB") == "lint_net_name");
  CHECK(codes(kEfa, "2.26.2", "NCCL_NET=OFI").empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_NET_PLUGIN=ofi", none) ==
        "lint_plugin_missing");
  CHECK(codes(kIb, "2.26.2", "NCCL_NET_PLUGIN=none", none).empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_NET_PLUGIN=a,b") == "lint_plugin_missing");
  CHECK(codes(kIb, "2.27.7", "NCCL_NET_PLUGIN=a,b").empty());
  CHECK(codes(kIb, "2.20.5", "NCCL_NET_PLUGIN=libnccl-net-ofi.so") ==
        "lint_plugin_missing");
  CHECK(codes(kIb, "2.27.3", "NCCL_NET_PLUGIN=/x.so") == "lint_plugin_path");
}

TEST_CASE("lines of nccl.conf that do not say what they seem to") {
  const auto conf = [](const std::string& line, const char* version) {
    return codes(kIb, version, "NCCL_DEBUG=WARN",
                 R"(, "nccl_conf": [")" + line + R"("])");
  };
  const auto told = [](const std::string& line, const char* version) {
    const auto facts = read_facts(R"([{"name": "w", "nccl_version": ")" +
                                      std::string(version) + "\", " + kIb +
                                      R"(, "nccl_conf": [")" + line + R"("]}])",
                                  "test");
    if (!facts) FAIL(facts.error().text());
    std::set<std::string> out;
    for (auto& finding : plan_fabric(facts->pods, {}).findings) {
      out.insert(finding.code);
    }
    return out;
  };
  CHECK(conf("NCCL_IB_TIMEOUT=22", "2.21.5").empty());
  for (const char* line :
       {"NCCL_IB_HCA =mlx5", " NCCL_IB_HCA=mlx5", "export NCCL_IB_HCA=mlx5",
        "NCCL_SOCKET_IFNAME=eth0 ", R"(NCCL_SOCKET_IFNAME=\"eth0\")",
        R"(NCCL_IB_TIMEOUT=\"22\")", "NCCL_NET=IB\\r"}) {
    INFO(line);
    CHECK(told(line, "2.27.7").contains("lint_conf_line"));
  }
  // Numbers are read with blanks; 2.30.3 takes carriage returns away.
  CHECK(!told("NCCL_IB_TIMEOUT= 22", "2.27.7").contains("lint_conf_line"));
  CHECK(!told("NCCL_NET=IB\\r", "2.30.7").contains("lint_conf_line"));
  // A name with a blank is not the variable.
  const auto facts =
      read_facts(std::string("[{") + kIb +
                     R"(, "nccl_conf": "NCCL_IB_DISABLE =1\nNCCL_IB_SL=1"}])",
                 "test");
  REQUIRE(facts.has_value());
  CHECK(plan_fabric(facts->pods, {}).transport == "InfiniBand");
  CHECK(facts->pods[0].nccl_conf.at("NCCL_IB_SL") == "1");
}

TEST_CASE("a list that lets lo in again") {
  const auto verdict = [](const char* version, const char* netdevs) {
    const auto facts = read_facts(
        std::string(R"([{"name": "w[0-1]", "nccl_version": ")") + version +
            R"(", "hcas": [], "environment": "NCCL_SOCKET_IFNAME=^docker0",
            "netdevs": [)" +
            netdevs + "]}]",
        "test");
    if (!facts) FAIL(facts.error().text());
    return std::string(verdict_name(plan_fabric(facts->pods, {}).verdict));
  };
  const char* with_lo = R"("lo 127.0.0.1/8", "eth0 10.0.0.[1-2]/24")";
  CHECK(verdict("2.27.7", with_lo) == "refuse");
  CHECK(verdict("2.3.4", with_lo) == "tcp");  // lo was never taken then
  CHECK(verdict("2.27.7", R"("eth0 10.0.0.[1-2]/24")") == "tcp");
}

TEST_CASE("variables of MPI, UCX and libfabric") {
  const std::string v5 =
      R"(, "mpi": {"family": "openmpi", "version": "5.0.3"})";
  const std::string ucx = R"(, "ucx": {"version": "1.22.0"})";
  CHECK(codes(kIb, "2.26.2", "OMPI_MCA_btl=openib,self", v5) == "lint_openib");
  CHECK(codes(kIb, "2.26.2", "OMPI_MCA_btl=^openib", v5).empty());
  CHECK(codes(kTcp, "2.26.2", "OMPI_MCA_btl=tcp") == "lint_btl_self");
  CHECK(codes(kTcp, "2.26.2", "OMPI_MCA_btl_tcp_if_include=ens3") ==
        "lint_missing_name");
  CHECK(
      codes(kTcp, "2.26.2", "OMPI_MCA_btl_tcp_if_include=10.0.0.0/24").empty());
  CHECK(codes(kTcp, "2.26.2", "OMPI_MCA_btl_tcp_if_exclude=docker0") ==
        "lint_readmits_lo");
  CHECK(codes(kTcp, "2.26.2", R"(OMPI_MCA_btl_tcp_if_exclude=lo",
              "OMPI_MCA_btl_tcp_if_include=eth0)") == "lint_if_both");
  CHECK(codes(kIb, "2.26.2", "UCX_NET_DEVICES=mlx5_0") == "lint_ucx_devices");
  CHECK(codes(kIb, "2.26.2", "UCX_NET_DEVICES=mlx5_0", ucx).empty());
  CHECK(codes(kIb, "2.26.2", "UCX_NET_DEVICES=mlx5_7:1") == "lint_ucx_devices");
  CHECK(codes(kIb, "2.26.2", R"(UCX_TLS=tcp", "UCX_NET_DEVICES=mlx5_0:1)") ==
        "lint_ucx_devices");
  CHECK(codes(kIb, "2.26.2", R"(UCX_TLS=rc,sm", "UCX_NET_DEVICES=eth0)") ==
        "lint_ucx_devices");
  CHECK(codes(kIb, "2.26.2", R"(UCX_TLS=tcp,sm", "UCX_NET_DEVICES=eth0)")
            .empty());
  CHECK(codes(kTcp, "2.26.2", "UCX_TLS=rc,self,sm") == "lint_ucx_tls");
  CHECK(codes(kIb, "2.26.2", "UCX_TLS=self,sm,cuda_copy") == "lint_ucx_tls");
  CHECK(codes(kIb, "2.26.2", "UCX_TLS=sockcm,cuda_copy") == "lint_ucx_tls");
  CHECK(codes(kTcp, "2.26.2", "UCX_TLS=^ib").empty());
  CHECK(codes(kRoce, "2.26.2", "UCX_IB_GID_INDEX=2") == "lint_gid_index");
  CHECK(codes(kRoce, "2.26.2", "UCX_IB_GID_INDEX=3").empty());
  CHECK(codes(kRoce, "2.26.2", "UCX_IB_GID_INDEX=auto").empty());
  CHECK(codes(kIb, "2.26.2", "UCX_IB_GID_INDEX=2").empty());
  CHECK(codes(kTcp, "2.26.2", "FI_PROVIDER=shm") == "lint_fi_provider");
  CHECK(codes(kTcp, "2.26.2", "I_MPI_OFI_PROVIDER=sm2") == "lint_fi_provider");
  CHECK(codes(kTcp, "2.26.2", "FI_PROVIDER=shm,tcp").empty());
  CHECK(codes(kEfa, "2.26.2", "FI_PROVIDER=tcp") == "lint_fi_provider");
  CHECK(codes(kEfa, "2.26.2", "FI_PROVIDER=EFA").empty());
  CHECK(codes(kEfa, "2.26.2", "FI_PROVIDER=efa").empty());
  CHECK(codes(kEfa, "2.26.2", "FI_PROVIDER=^tcp").empty());
  CHECK(codes(kTcp, "2.26.2", "OMPI_MCA_pml=ucx") == "lint_pml_ucx");
  CHECK(codes(kIb, "2.26.2", "OMPI_MCA_pml=ucx").empty());
  CHECK(codes(kTcp, "2.26.2", "I_MPI_FABRICS=shm:dapl") ==
        "lint_intel_fabrics");
  CHECK(codes(kTcp, "2.26.2", "I_MPI_FABRICS=shm:dapl",
              R"(, "mpi": {"family": "intel", "version": "2018.3"})")
            .empty());
}

TEST_CASE("an index that an InfiniBand port has not is told of UCX") {
  const auto told = [](const char* gids, const char* variables) {
    const auto facts = read_facts(
        R"([{"name": "w[0-1]", "hcas": [{"name": "mlx5_0", "link_layer":
        "InfiniBand", "state": "ACTIVE", "gids": [)" +
            std::string(gids) + R"(]}], "environment": ")" + variables + "\"}]",
        "test");
    if (!facts) FAIL(facts.error().text());
    const FabricPlan plan = plan_fabric(facts->pods, {});
    return plan.verdict == FabricVerdict::kWarn;
  };
  const char* own = R"("0 ib fe80::e41d:2d03:e7:1")";
  CHECK(told(own, "UCX_IB_GID_INDEX=3"));
  CHECK(!told(own, "UCX_IB_GID_INDEX=0"));
  CHECK(!told(own, "UCX_IB_GID_INDEX=3 UCX_TLS=tcp"));
  CHECK(!told(R"("0 ib fe80::1", "3 ib fec0::2")", "UCX_IB_GID_INDEX=3"));
}

TEST_CASE("names that no release of NCCL has") {
  const char* timeout = "NCCL_COMM_TIMEOUT_SECONDS=3600";
  CHECK(codes(kIb, "2.27.3", timeout) == "lint_unknown_name");
  CHECK(codes(kIb, "2.27.3", "NCCL_OF_A_PLUGIN=1") == "lint_unknown_name");
  CHECK(codes(kIb, "2.99.0", timeout).empty());  // who knows
}

TEST_CASE("UCX without a device, where MPI has nothing else") {
  const auto refused = [](const std::string& variables,
                          const std::string& more) {
    const std::string text =
        R"([{"name": "w[0-1]", "gpus": [], )" + std::string(kIb) +
        R"(, "netdevs": ["eth0 10.0.0.[1-2]/24 default"], "environment": [)" +
        variables + "]" + more + "}]";
    const auto facts = read_facts(text, "test");
    if (!facts) FAIL(facts.error().text());
    return plan_fabric(facts->pods, {}).verdict == FabricVerdict::kRefuse;
  };
  const std::string old = R"(, "ucx": "1.14.0")";
  const std::string intel = R"(, "mpi": {"family": "intel"})";
  const std::string mlx = R"(, "libfabric": {"providers": ["mlx"]})";
  const std::string more = R"(, "libfabric": {"providers": ["mlx", "tcp"]})";
  const std::string bare = R"("UCX_NET_DEVICES=mlx5_0")";
  CHECK(refused(bare, old + intel + mlx));
  CHECK(!refused(bare, intel + mlx));  // a newer UCX, who knows
  CHECK(!refused(bare, R"(, "ucx": "1.22.0")" + intel + mlx));
  CHECK(!refused(bare, old + intel + more));
  CHECK(!refused(bare, old + mlx));
  CHECK(refused(bare + R"(, "FI_PROVIDER=mlx")", old + intel + more));
  CHECK(!refused(bare + R"(, "FI_PROVIDER=tcp")", old + intel + mlx));
  CHECK(refused(bare + R"(, "OMPI_MCA_pml=ucx")", old));
  CHECK(!refused(R"("UCX_NET_DEVICES=mlx5_0:1")", old + intel + mlx));
  CHECK(!refused(R"("UCX_NET_DEVICES=mlx5_0,mlx5_1:1")", old + intel + mlx));
  CHECK(refused(R"("UCX_NET_DEVICES=mlx5_7:1", "OMPI_MCA_pml=ucx")", ""));
}

TEST_CASE("NCCL_COMM_ID chooses the bootstrap's interface") {
  const auto comm_id = [](const std::string& id, const std::string& more = "",
                          const std::string& nccl = "2.26.2") {
    return codes(kTcp, nccl, "NCCL_COMM_ID=" + id, more);
  };
  CHECK(comm_id("10.0.0.1:2000").empty());
  CHECK(comm_id("trainer-0.jobs:2000").empty());
  CHECK(comm_id("10.0.1.1:2000") == "lint_comm_id");  // no such network
  CHECK(comm_id("127.0.0.1:2000") == "lint_comm_id");
  CHECK(comm_id("[fd00::1]:2000") == "lint_comm_id");
  CHECK(comm_id("10.0.0.1") == "lint_comm_id");
  CHECK(comm_id("fd00::1:2000") == "lint_comm_id");
  const char* lo = R"(, "nccl_conf": ["NCCL_SOCKET_IFNAME=lo"])";
  CHECK(comm_id("10.0.0.1:2000", lo) == "lint_comm_id");
  const char* eth0 = R"(, "nccl_conf": ["NCCL_SOCKET_IFNAME==eth0"])";
  CHECK(comm_id("10.0.0.1:2000", eth0).empty());
  CHECK(comm_id("10.0.0.1:2000", "", "2.29.3") == "comm_id_bug");
  CHECK(comm_id("10.0.0.1:2000", "", "2.30.3").empty());
}

TEST_CASE("where NCCL's subnet test is inverted IPv4 jobs are refused") {
  const auto verdict = [](const std::string& pods, const std::string& id) {
    const auto facts = read_facts(
        R"([{"name": ")" + pods + R"(", "nccl_version": "2.29.3", "hcas": [],
            "environment": ["NCCL_COMM_ID=)" +
            id + R"("]}])",
        "test");
    return plan_fabric(facts.value().pods, {}).verdict;
  };
  CHECK(verdict("w[0-1]", "10.0.0.1:2000") == FabricVerdict::kRefuse);
  CHECK(verdict("w0", "10.0.0.1:2000") == FabricVerdict::kTcp);
  CHECK(verdict("w[0-1]", "[fd00::1]:2000") == FabricVerdict::kTcp);
}

TEST_CASE("an adapter that hardly waits") {
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_TIMEOUT=2") == "lint_timeout");
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_TIMEOUT=13") == "lint_timeout");
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_TIMEOUT=14").empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_TIMEOUT=0").empty());  // for ever
}

TEST_CASE("a topology file that is not in the pod") {
  const std::string there = R"(, "files": ["/t.xml"])";
  CHECK(codes(kIb, "2.26.2", "NCCL_TOPO_FILE=/t.xml", there).empty());
  CHECK(codes(kIb, "2.26.2", "NCCL_TOPO_FILE=/u.xml", there) ==
        "topology_file");
  CHECK(codes(kIb, "2.26.2", "NCCL_TOPO_FILE=/u.xml").empty());
}

TEST_CASE("ports, blanks and names of other nodes in lists") {
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_HCA=mlx5_0:0,mlx5_1:0") ==
        "lint_matches_nothing tcp_for_all");
  CHECK(codes(kIb, "2.26.2", "NCCL_IB_HCA=mlx5_0, mlx5_1") ==
        "lint_missing_name");
  const auto severity = [](const char* variable) {
    const auto facts = read_facts(
        std::string(R"([{"name": "w[0-1]", "nccl_version": "2.26.2", )") + kIb +
            R"(, "environment": [")" + variable + R"("],
                "netdevs": ["eth0 10.0.0.[1-2]/24 default"]}])",
        "test");
    const FabricPlan plan = plan_fabric(facts.value().pods, {});
    for (const Finding& finding : plan.findings) {
      if (finding.code == "lint_missing_name") return finding.severity;
    }
    return Severity::kError;
  };
  CHECK(severity("NCCL_SOCKET_IFNAME=bond0,eth0") == Severity::kInfo);
  CHECK(severity("NCCL_SOCKET_IFNAME=eth0, bond0") == Severity::kWarning);
  CHECK(severity("NCCL_IB_HCA=mlx5_0,mlx5_7") == Severity::kWarning);
}

TEST_CASE("as many channels as the version has") {
  const char* of_nccl = "NCCL_MAX_NCHANNELS=64";
  CHECK(codes(kIb, "2.24.3", of_nccl) == "lint_range");
  CHECK(codes(kIb, "2.25.1", of_nccl).empty());
  CHECK(max_channels({2, 18, 3}, true) == 32);
  CHECK(max_channels({2, 18, 6}, true) == 64);
  CHECK(max_channels({2, 21, 5}, true) == 128);
  CHECK(max_channels({2, 30, 7}, true) == 512);
}

TEST_CASE("NCCL's variables are listed once, in order") {
  const auto names = nccl_variable_names();
  CHECK(names.size() > 200);
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  for (const std::string& name : names) {
    INFO(name);
    const NcclVariable* known = find_nccl_variable(name);
    REQUIRE(known != nullptr);
    CHECK(known->name == name);
    const bool gone = known->gone > NcclVersion{};
    CHECK((!gone || known->gone > known->since));
    if (known->instead != nullptr) {
      const NcclVariable* instead = find_nccl_variable(known->instead);
      REQUIRE(instead != nullptr);
      CHECK(instead->gone == NcclVersion{});
    }
  }
}

TEST_CASE("files that variables name and the pod has not") {
  const std::string missing =
      R"(, "missing_files": ["NCCL_TUNER_PLUGIN=ofi", "NCCL_GRAPH_FILE=/g.xml",
       "LD_PRELOAD=/a.so", "OMPI_MCA_mca_base_param_files=/b.conf",
       "NCCL_TUNER_PLUGIN=none"])";
  const auto one = [&](const char* version, const char* variable) {
    return codes(kIb, version, variable, missing);
  };
  CHECK(one("2.26.2", "NCCL_TUNER_PLUGIN=ofi") == "lint_missing_file");
  CHECK(one("2.26.2", "NCCL_GRAPH_FILE=/g.xml") ==
        "lint_graph_file lint_missing_file");
  CHECK(one("2.26.2", "LD_PRELOAD=/b.so:/a.so") == "lint_missing_file");
  CHECK(one("2.26.2", "OMPI_MCA_mca_base_param_files=/a.conf:/b.conf") ==
        "lint_missing_file");
  // Another value than the one that was looked for: nothing is known of it.
  CHECK(one("2.26.2", "NCCL_TUNER_PLUGIN=other").empty());
  CHECK(one("2.26.2", "NCCL_TUNER_PLUGIN=none").empty());
  CHECK(one("2.26.2", "LD_PRELOAD=/b.so").empty());
  // Nobody reads it: that is said instead.
  CHECK(one("2.18.1", "NCCL_TUNER_PLUGIN=ofi") == "lint_no_effect");
  CHECK(codes(kIb, "2.26.2", "NCCL_TUNER_PLUGIN=ofi").empty());
}

TEST_CASE("the places of plugins are those that NCCL tries") {
  using Places = std::vector<std::string>;
  CHECK(plugin_places("tuner", "ofi") == Places{"ofi", "libnccl-tuner-ofi.so"});
  CHECK(plugin_places("tuner", "libfoo.so") == Places{"libfoo.so"});
  CHECK(plugin_places("net", "libfoo") ==
        Places{"libfoo", "libnccl-net-libfoo.so"});
  CHECK(plugin_places("net", "/opt/x.so") == Places{"/opt/x.so"});
  CHECK(plugin_places("net", "./x") == Places{"./x"});
  const auto places = [](const char* version, const char* value) {
    PodFabric pod;
    pod.nccl_version = version;
    pod.environment["NCCL_TUNER_PLUGIN"] = value;
    const auto files = named_files(pod);
    return files.empty() ? Places{} : files[0].places;
  };
  CHECK(places("2.28.9", "ofi").size() == 2);
  CHECK(places("2.20.5", "ofi") == Places{"ofi"});
  CHECK(places("2.28.9", "None").empty());
  CHECK(places("2.28.9", "STATIC_PLUGIN").empty());
  CHECK(places("2.28.9", "static").empty());
}

TEST_CASE("variables that contradict each other") {
  // Both at once; codes() has one variable only.
  const auto both = [](const std::string& variables,
                       const std::string& more = R"(, "plugins": [])",
                       const char* version = "2.28.9") {
    const auto facts = read_facts(
        R"([{"name": "w[0-1]", "nccl_version": ")" + std::string(version) +
            "\", " + kIb + more + R"(, "environment": ")" + variables +
            R"(", "netdevs": ["eth0 10.0.0.[1-2]/24 default"]}])",
        "test");
    if (!facts) FAIL(facts.error().text());
    std::string text;
    for (const Finding& one : plan_fabric(facts->pods, {}).findings) {
      if (one.code != "lint_contradiction") continue;
      CHECK_FALSE(one.remedy.empty());
      CHECK_FALSE(one.evidence.empty());
      const std::string all = "all pods: ";
      REQUIRE(one.text.starts_with(all));
      const std::string what = one.text.substr(all.size());
      text += (one.severity == Severity::kError ? "E:" : "W:") +
              what.substr(0, what.find(": ")) + "\n";
    }
    return text;
  };
  for (const auto& [must, must_not] :
       std::vector<std::pair<std::string, std::string>>{
           {"NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5_0",
            "NCCL_IB_DISABLE=0 NCCL_IB_HCA=mlx5_0"},
           {"NCCL_IB_DISABLE=1 NCCL_NET_GDR_LEVEL=PHB",
            "NCCL_IB_DISABLE=1 NCCL_NET_GDR_LEVEL=LOC"},
           {"NCCL_NET=Socket NCCL_IB_HCA=mlx5_0",
            "NCCL_NET=IB NCCL_IB_HCA=mlx5_0"},
           {"NCCL_NET=socket NCCL_NET_GDR_LEVEL=5",
            "NCCL_NET=socket NCCL_NET_GDR_LEVEL=0"},
           {"NCCL_NET=Socket NCCL_IB_DISABLE=0",
            "NCCL_NET=Socket NCCL_IB_DISABLE=1"},
           {"NCCL_NET=Socket NCCL_NET_PLUGIN=ofi",
            "NCCL_NET=Socket NCCL_NET_PLUGIN=none"},
           {"NCCL_P2P_DISABLE=1 NCCL_P2P_LEVEL=NVL",
            "NCCL_P2P_DISABLE=0 NCCL_P2P_LEVEL=NVL"},
           {"NCCL_ALGO=NVLS,NVLSTree NCCL_PROTO=LL,LL128",
            "NCCL_ALGO=NVLS,Ring NCCL_PROTO=LL"},
           {"NCCL_ALGO=NVLS NCCL_PROTO=^Simple",
            "NCCL_ALGO=NVLS NCCL_PROTO=^LL"},
           {"NCCL_ALGO=NVLS NCCL_NVLS_ENABLE=0",
            "NCCL_ALGO=^NVLS NCCL_NVLS_ENABLE=0"},
           {"NCCL_ALGO=CollNetDirect NCCL_COLLNET_ENABLE=0",
            "NCCL_ALGO=CollNetDirect NCCL_COLLNET_ENABLE=1"},
           {"NCCL_IB_GID_INDEX=3 NCCL_IB_ADDR_FAMILY=AF_INET6",
            "NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET6"},
           {"NCCL_MIN_CTAS=16 NCCL_MAX_CTAS=8",
            "NCCL_MIN_CTAS=8 NCCL_MAX_CTAS=8"},
           {"NCCL_CUMEM_ENABLE=0 NCCL_MNNVL_ENABLE=1",
            "NCCL_CUMEM_ENABLE=0 NCCL_MNNVL_ENABLE=0"},
           {"NCCL_PXN_DISABLE=1 NCCL_P2P_PXN_LEVEL=2",
            "NCCL_PXN_DISABLE=0 NCCL_P2P_PXN_LEVEL=2"},
           {"TORCH_NCCL_BLOCKING_WAIT=1 TORCH_NCCL_ASYNC_ERROR_HANDLING=3",
            "TORCH_NCCL_BLOCKING_WAIT=0 TORCH_NCCL_ASYNC_ERROR_HANDLING=3"},
           {"TORCH_FR_BUFFER_SIZE=0 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
            "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"},
           {"OMPI_MCA_coll_tuned_use_dynamic_rules=0 "
            "OMPI_MCA_coll_tuned_dynamic_rules_filename=/r",
            "OMPI_MCA_coll_tuned_use_dynamic_rules=true "
            "OMPI_MCA_coll_tuned_dynamic_rules_filename=/r"},
           {"OMPI_MCA_pml=ucx OMPI_MCA_mtl=ofi",
            "OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi"},
           {"OMPI_MCA_pml=ob1 OMPI_MCA_mtl=psm2",
            "OMPI_MCA_pml=ob1 OMPI_MCA_mtl=^psm2"},
           {"OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_exclude=lo",
            "OMPI_MCA_oob_tcp_if_include=eth0"},
           {"I_MPI_FABRICS=shm I_MPI_OFI_PROVIDER=tcp",
            "I_MPI_FABRICS=shm:ofi I_MPI_OFI_PROVIDER=tcp"}}) {
    INFO(must << " / " << must_not);
    const std::string names = must.substr(0, must.find(' ')) + " and " +
                              must.substr(must.find(' ') + 1);
    CHECK(both(must) == "W:" + names + "\n");
    CHECK(both(must_not).empty());
  }
  CHECK(both("NCCL_IB_DISABLE=1 NCCL_NET=IB") ==
        "E:NCCL_IB_DISABLE=1 and NCCL_NET=IB\n");
  // A plugin has its own way to the adapters, and nobody said there is none.
  const std::string hca = "NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5_0";
  CHECK(both(hca, R"(, "plugins": ["libnccl-net.so"])").empty());
  CHECK(both(hca, "").empty());
  // Of a version that reads one of them only.
  CHECK(both("NCCL_IB_GID_INDEX=3 NCCL_IB_ADDR_FAMILY=AF_INET6",
             R"(, "plugins": [])", "2.20.5")
            .empty());
}
