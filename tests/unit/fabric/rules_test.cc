// SPDX-License-Identifier: Apache-2.0
// Rules about whole pods that few recorded machines show: ports that differ,
// functions on one bus, plugins of another age, prices, equal settings.
#include <algorithm>
#include <set>
#include <string>

#include "catch.h"
#include "fabric/policy/network/platform.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/network/ports.h"
#include "plan_of.h"

using namespace muster;

TEST_CASE("a port that is slower than its namesake is named") {
  const auto with = [](const char* rate) {
    return plan(std::string(R"([{"name": "a", "hcas": [{"name": "mlx5_[0-1]",
      "link_layer": "InfiniBand", "rate_gbps": 400}]},
      {"name": "b", "hcas": [{"name": "mlx5_0", "link_layer": "InfiniBand",
      "rate_gbps": 400}, {"name": "mlx5_1", "link_layer": "InfiniBand",
      "rate_gbps": )") +
                rate + "}]}]");
  };
  CHECK(found(with("100"), "rate_differs"));
  CHECK(!found(with("400"), "rate_differs"));
  const FabricPlan other = plan(
      R"([{"name": "a", "hcas": [{"name": "mlx5_[0-7]", "rate_gbps": 400,
      "link_layer": "InfiniBand"}]}, {"name": "b", "hcas": [{"name":
      "mlx5_[0-7]", "rate_gbps": 200, "link_layer": "InfiniBand"}]}])");
  CHECK(std::count_if(
            other.findings.begin(), other.findings.end(),
            [](auto& finding) { return finding.code == "rate_differs"; }) == 1);
}

TEST_CASE("functions on one bus of a virtual machine are not one card") {
  const auto with = [](const char* vm, const char* second) {
    return value(
        plan(std::string(R"([{"name": "a", "virtual_machine": )") + vm +
             R"(, "hcas": [{"name": "mlx5_0", "vf": true, "pci": "0000:00:05.0",
             "link_layer": "InfiniBand"}, {"name": "mlx5_1", "vf": true,
             "link_layer": "InfiniBand", "pci": ")" +
             second + "\"}]}]"),
        0, "NCCL_IB_MERGE_VFS");
  };
  CHECK(with("true", "0000:00:06.0") == "0");
  CHECK(with("true", "0001:00:06.0").empty());
  CHECK(with("true", "0000:00:05.1").empty());  // ports of one card
  CHECK(with("false", "0000:00:06.0").empty());
}

TEST_CASE("InfiniBand of another subnet is left out, rails are not") {
  const auto list = [](const char* last) {
    return value(
        plan(std::string(
                 R"([{"name": "a", "hcas": [{"name": "mlx5_[0-2]", "gids":
             ["ib fe80:0:0:0:a:b:c:[1-3]"], "link_layer": "InfiniBand"},
             {"name": "mlx5_3", "link_layer": "InfiniBand", "gids": ["ib )") +
             last + R"(:0:0:0:a:b:c:9"]}]}])"),
        0, "NCCL_IB_HCA");
  };
  CHECK(list("fec0") == "=mlx5_0,mlx5_1,mlx5_2");
  CHECK(list("fe80").empty());
  CHECK(value(plan(R"([{"name": "a", "hcas": [{"name": "mlx5_[0-3]", "gids":
      ["ib fec[0-3]:0:0:0:a:b:c:d"], "link_layer": "InfiniBand"}]}])"),
              0, "NCCL_IB_HCA")
            .empty());
}

TEST_CASE("plugins whose interface NCCL has dropped") {
  const auto too_old = [](const char* network, const char* version,
                          NcclVersion nccl) {
    const FabricPlugin plugin{"libnccl-net.so", network, version};
    return is_too_old({&plugin, plugin_kind(plugin), true}, nccl);
  };
  CHECK(too_old("AWS Libfabric", "1.4.0", {2, 19, 3}));
  CHECK(!too_old("AWS Libfabric", "1.4.0", {2, 18, 6}));
  CHECK(!too_old("AWS Libfabric", "1.5.0", {2, 30, 7}));
  CHECK(!too_old("AWS Libfabric", "", {2, 30, 7}));
  CHECK(too_old("IBext_v5", "", {2, 26, 2}));
  CHECK(!too_old("IBext_v5", "", {2, 25, 1}));
  CHECK(!too_old("IBext", "", {2, 30, 7}));
  const FabricPlan efa = plan(
      R"([{"name": "w[0-1]", "nccl_version": "2.21.5", "plugins": [{"name":
      "libnccl-net.so", "network": "AWS Libfabric", "version": "1.4.0"}],
      "hcas": [{"name": "rdmap0s0", "driver": "efa"}]}])");
  CHECK(efa.transport == "TCP");
  CHECK(found(efa, "plugin_too_old"));
}

TEST_CASE("what working settings cost") {
  const auto with = [](const char* variable, const char* profile = "") {
    return plan(std::string(R"([{"name": "w[0-1]", "nccl_version": "2.21.5",
      "plugins": [], "hcas": [{"name": "mlx5_0", "link_layer": "InfiniBand"}],
      "gpus": [{"name": "H100 SXM", "nvlink": true}, {"nvlink": true}],
      "environment": [")") +
                    variable + "\"]}]",
                profile);
  };
  CHECK(found(with("NCCL_P2P_DISABLE=1"), "lint_p2p_off"));
  CHECK(!found(with("NCCL_P2P_DISABLE=1", "grpo"), "lint_p2p_off"));
  CHECK(!found(with("NCCL_P2P_DISABLE=0"), "lint_p2p_off"));
  CHECK(found(with("NCCL_P2P_LEVEL=LOC"), "lint_p2p_off"));
  CHECK(!found(with("NCCL_P2P_LEVEL=NVL"), "lint_p2p_off"));
  CHECK(found(with("NCCL_NET_GDR_LEVEL=LOC"), "lint_gdr_off"));
  CHECK(found(with("NCCL_COLLNET_ENABLE=1"), "lint_no_effect"));
}

TEST_CASE("levels in words before NCCL knew words") {
  const auto with = [](const char* version, const char* variable) {
    return plan(std::string(R"([{"name": "w", "hcas": [], "gpus": 2,
      "nccl_version": ")") +
                version + R"(", "environment": [")" + variable + "\"]}]");
  };
  CHECK(found(with("2.5.7", "NCCL_P2P_LEVEL=NVL"), "lint_level"));
  CHECK(found(with("2.5.7", "NCCL_NET_GDR_LEVEL=PIX"), "lint_level"));
  CHECK(!found(with("2.5.7", "NCCL_P2P_LEVEL=3"), "lint_level"));
  CHECK(!found(with("2.6.4", "NCCL_P2P_LEVEL=NVL"), "lint_level"));
}

TEST_CASE("GPUDirect RDMA without nvidia_peermem needs an NCCL with DMA-BUF") {
  const auto with = [](const char* version) {
    return found(plan(std::string(R"([{"name": "w[0-1]", "nccl_version": ")") +
                      version + R"(", "gpus": "8x NVIDIA A100",
      "hcas": ["mlx5_0 InfiniBand 200"], "peermem": false}])"),
                 "gdr_missing");
  };
  CHECK(with("2.12.12"));
  CHECK(!with("2.13.4"));  // DMA-BUF may do it, and nobody said
}

TEST_CASE("how a pod asks for the node's EFA") {
  const auto remedy = [](const char* where) {
    const FabricPlan efa =
        plan(std::string(R"([{"name": "w[0-1]", )") + where + "}]");
    for (const Finding& finding : efa.findings) {
      if (finding.code == "rdma_not_given") return finding.remedy;
    }
    return std::string();
  };
  const auto efa = remedy(R"("hcas": [], "pci_hcas": ["0000:00:1e.0 1d0f:efa1",
      "0000:00:1f.0 1d0f:efa1"])");
  CHECK(efa.find("vpc.amazonaws.com/efa: 2") != efa.npos);
  const auto mlx = remedy(R"("hcas": [], "pci_hcas":
      ["0000:00:1e.0 15b3:1021"])");
  CHECK(mlx.find("rdma/hca: 1") != mlx.npos);
  const auto seen = remedy(R"("hcas": [{"name": "rdmap0s0", "driver": "efa",
      "device": false}])");
  CHECK(seen.find("vpc.amazonaws.com/efa: 1") != seen.npos);
}

TEST_CASE("an address family is for the scan, which an index switches off") {
  const auto with = [](const char* environment) {
    return value(plan(std::string(R"([{"name": "w[0-1]", "nccl_version":
      "2.26.5", "hcas": [{"name": "ionic_0", "link_layer": "Ethernet",
      "gids": ["v2 fe80::1", "v2 fd93::[1-2]"]}], "environment": ")") +
                      environment + "\"}]"),
                 0, "NCCL_IB_ADDR_FAMILY");
  };
  CHECK(with("") == "AF_INET6");
  CHECK(with("NCCL_IB_GID_INDEX=-1") == "AF_INET6");
  CHECK(with("NCCL_IB_GID_INDEX=1").empty());
}

TEST_CASE("a name that is nearly one of the pod's") {
  const auto remedy = [](const char* list) {
    const FabricPlan one = plan(std::string(R"([{"name": "w[0-1]",
      "hcas": ["mlx5_[6,8] RoCE ACTIVE"], "environment": "NCCL_IB_HCA=)") +
                                list + "\"}]");
    for (const Finding& finding : one.findings) {
      if (finding.code == "lint_missing_name") return finding.remedy;
    }
    return std::string();
  };
  CHECK(remedy("mlx5_6,mlx_8").find("write mlx5_8") == 0);
  CHECK(remedy("mlx5_6,mlx5_7").find("write") == std::string::npos);
}

TEST_CASE("what NCCL does by itself is unknown where adapters are") {
  const auto alone = [](const char* pod) {
    return plan(std::string("[{") + pod + "}]").pods[0].alone;
  };
  CHECK(alone(R"("name": "w")").find("Socket") == std::string::npos);
  CHECK(alone(R"("hcas": [])").find("Socket") != std::string::npos);
}

TEST_CASE("GPUs of a pod with neither peer to peer nor shared memory") {
  const auto with = [](const char* gpus, const char* variables) {
    return found(plan(std::string(R"([{"name": "w", "hcas": [], "gpus": )") +
                      gpus + R"(, "environment": ")" + variables + "\"}]"),
                 "lint_shm_off");
  };
  CHECK(with("2", "NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=1"));
  CHECK(!with("1", "NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=1"));
  CHECK(!with("2", "NCCL_SHM_DISABLE=1"));
}

TEST_CASE("profile rl gives all pods the value that some have") {
  const auto with = [](const char* second) {
    return plan(std::string(R"([{"name": "trainer", "hcas": [],
      "environment": ["NCCL_CUMEM_ENABLE=0"]}, {"name": "rollout",
      "hcas": [], "environment": [)") +
                    second + "]}]",
                "ppo");
  };
  CHECK(value(with(""), 1, "NCCL_CUMEM_ENABLE") == "0");
  CHECK(value(with(""), 0, "NCCL_CUMEM_ENABLE").empty());
  CHECK(!found(with(""), "values_differ"));
  const FabricPlan other = with("\"NCCL_CUMEM_ENABLE=1\"");
  CHECK(value(other, 1, "NCCL_CUMEM_ENABLE").empty());
  CHECK(found(other, "values_differ"));
}

TEST_CASE("profile rl sets its variables where no GPU and no NCCL shows") {
  for (const char* word : {"rl", "grpo", "ppo", "gapo", "dapo", "gspo"}) {
    INFO(word);
    const FabricPlan bare =
        plan(R"([{"name": "w", "gpus": [], "plugins": [], "hcas": []}])", word);
    CHECK(value(bare, 0, "NCCL_IB_DISABLE") == "1");
    CHECK(value(bare, 0, "NCCL_P2P_DISABLE") == "1");
    CHECK(found(bare, "rl_no_gpus"));
    CHECK(!found(bare, "rl_price"));
  }
  const FabricPlan users = plan(
      R"([{"name": "w", "gpus": [], "plugins": [], "hcas": [],
      "environment": ["NCCL_P2P_DISABLE=0"]}])",
      "grpo");
  CHECK(value(users, 0, "NCCL_P2P_DISABLE").empty());
  CHECK(found(users, "user_value_kept"));
}

TEST_CASE("profile rl sets its variables in pods without GPU beside others") {
  const FabricPlan mixed = plan(
      R"([{"name": "driver", "gpus": [], "plugins": [], "hcas": []},
      {"name": "w", "gpus": [{"name": "H100"}], "nccl_version": "2.26.2",
      "hcas": [{"name": "mlx5_0", "link_layer": "InfiniBand",
      "rate_gbps": 400}]}])",
      "grpo");
  for (const size_t pod : {0U, 1U}) {
    CHECK(value(mixed, pod, "NCCL_IB_DISABLE") == "1");
    CHECK(value(mixed, pod, "NCCL_P2P_DISABLE") == "1");
  }
}

TEST_CASE("profile rl leaves MPI of CPU pods its network") {
  const FabricPlan efa = plan(
      R"([{"name": "w[0-1]", "gpus": [], "plugins": [], "hcas": [{"name":
      "rdmap0s0", "driver": "efa"}], "mpi": {"family": "openmpi"}}])",
      "grpo");
  CHECK(efa.transport == "EFA");
  CHECK(value(efa, 0, "NCCL_IB_DISABLE") == "1");
  for (const auto& [name, set] : efa.pods[0].env()) {
    CHECK(name.starts_with("NCCL_"));
  }
  CHECK(found(efa, "rl_no_gpus"));
}

TEST_CASE("NCCL for a newer CUDA than the driver takes") {
  const auto with = [](const char* nccl, const char* cuda) {
    return found(plan(std::string(R"([{"name": "w", "hcas": [],
      "nccl_version": ")") +
                      nccl + R"(", "cuda_version": ")" + cuda + "\"}]"),
                 "cuda_too_old");
  };
  CHECK(with("2.28.3+cuda13.0", "12.4"));
  CHECK(!with("2.28.3+cuda12.9", "12.4"));  // minor versions fit
  CHECK(!with("2.28.3", "12.4"));
  CHECK(!with("2.21.5+cuda12.4", "13.0"));
}

TEST_CASE("clouds and links by their names") {
  const auto cloud = [](const char* shape) {
    PodFabric pod;
    pod.shape = shape;
    return platform_of(pod);
  };
  CHECK(cloud("p5.48xlarge") == Platform::kAws);
  CHECK(cloud("Standard_ND96isr_H100_v5") == Platform::kAzure);
  CHECK(cloud("a3-megagpu-8g") == Platform::kGcp);
  CHECK(cloud("BM.GPU.H100.8") == Platform::kOci);
  CHECK(cloud("DGX H100") == Platform::kNone);
  const auto link = [](const char* name) {
    FabricHca hca;
    hca.name = name;
    return link_kind(hca, {});
  };
  CHECK(link("rocep24s0f0") == LinkKind::kRoce);
  CHECK(link("mlx5_bond_0") == LinkKind::kRoce);
  CHECK(link("rdmap79s0") == LinkKind::kEfa);
  CHECK(link("mlx5_ib0") == LinkKind::kInfiniBand);
  CHECK(link("mlx5_0") == LinkKind::kUnknown);
  CHECK(link("ibp24s0") == LinkKind::kUnknown);
}

TEST_CASE("the one network of all pods is theirs, a bridge's is not") {
  const auto interface = [](const char* second) {
    return value(plan(std::string(R"([
      {"name": "a", "hcas": [], "netdevs": ["docker0 172.17.0.1/16",
        "ens1 10.1.0.1/24", "ens2 192.168.7.1/24"]},
      {"name": "b", "hcas": [], "netdevs": ["docker0 172.17.0.1/16",
        "ens1 10.2.0.1/24", "ens2 )") +
                      second + R"("]}])"),
                 0, "NCCL_SOCKET_IFNAME");
  };
  CHECK(interface("192.168.7.2/24") == "=ens2");
  CHECK(interface("192.168.7.1/24").empty());  // the same address: a bridge
  CHECK(interface("192.168.8.2/24").empty());
}

TEST_CASE("a wire that all pods share goes before the wireless default route") {
  const auto interface = [](const char* second, const char* more = "") {
    return value(plan(std::string(R"([
      {"name": "a", "hcas": [], "host_network": true, "netdevs":
        ["wlp2s0 192.168.1.5/24 default", "enp1s0 10.7.0.1/24"]},
      {"name": "b", "hcas": [], "host_network": true, "netdevs": [)") +
                      second + "]" + more + "}]"),
                 1, "NCCL_SOCKET_IFNAME");
  };
  const char* both = R"("wlp2s0 192.168.1.6/24 default", "enp1s0 10.7.0.2/24")";
  CHECK(interface(both) == "=enp1s0");
  // One of them has a cable to the same router, and its default route there.
  CHECK(interface(R"("ens3 192.168.1.6/24 default", "enp1s0 10.7.0.2/24")") ==
        "=enp1s0");
  CHECK(interface(R"("wlp2s0 192.168.1.6/24 default", "enp1s0 10.8.0.2/24")") ==
        "=wlp2s0");
  CHECK(interface(both, R"(, "peer_address": "192.168.1.6")") == "=wlp2s0");
}

TEST_CASE("interfaces that meet in all pods need no choice for the bootstrap") {
  const auto unknown = [](const char* second, const char* hcas) {
    return found(plan(std::string(R"([{"name": "a", "hcas": [)") + hcas +
                      R"(], "netdevs": ["ib0 10.1.0.1/24", "ib1 10.2.0.1/24"]},
                      {"name": "b", "hcas": [)" +
                      hcas + R"(], "netdevs": [")" + second +
                      R"(", "ib1 10.2.0.2/24"]}])"),
                 "interface_unknown");
  };
  const char* ib = "\"mlx5_0 InfiniBand\"";
  CHECK_FALSE(unknown("ib0 10.1.0.2/24", ib));
  CHECK_FALSE(unknown("ib0 10.1.0.2/24", ""));  // TCP over both
  CHECK(unknown("ib0 10.1.0.2", ib));           // no length: not known
}

TEST_CASE("routed rails stay beside a front end that all pods share") {
  const auto list = [](const char* rails) {
    const std::string text =
        std::string(R"([
      {"name": "a", "nccl_version": "2.27.5", "peer_address": "10.0.0.1",
       "hcas": [{"name": "mlx5_0", "gids": ["3 v2 10.0.0.1"]},
                {"name": "mlx5_)") +
        rails + R"(", "gids": ["3 v2 10.9.)" + rails + R"(.1"]}],
       "netdevs": ["eth0 10.0.0.1/24",
         {"name": "net)" +
        rails + R"(", "addresses": ["10.9.)" + rails +
        R"(.1/24"]}]},
      {"name": "b", "nccl_version": "2.27.5", "peer_address": "10.0.0.2",
       "hcas": [{"name": "mlx5_0", "gids": ["3 v2 10.0.0.2"]},
                {"name": "mlx5_)" +
        rails + R"(", "gids": ["3 v2 10.8.)" + rails + R"(.1"]}],
       "netdevs": ["eth0 10.0.0.2/24",
         {"name": "net)" +
        rails + R"(", "addresses": ["10.8.)" + rails + R"(.1/24"]}]}])";
    return value(plan(text), 1, "NCCL_IB_HCA");
  };
  CHECK(list("[1-2]") == "=mlx5_1,mlx5_2");
  CHECK(list("[1-1]") == "=mlx5_0");
}

TEST_CASE("a plugin that NCCL_NET_PLUGIN leaves out stays unloaded") {
  const auto transport = [](const char* asked) {
    return plan(std::string(R"({"nccl_version": "2.28.9", "plugins":
        ["libnccl-net.so", "libnccl-net-ofi.so", "libnccl-net-spcx.so"],
        "hcas": ["rdmap0s0"], "environment": {"NCCL_NET_PLUGIN": ")") +
                asked + "\"}}")
        .transport;
  };
  CHECK(transport("ofi") == "EFA");
  CHECK(transport("spcx,ofi") == "EFA");
  CHECK(transport("/opt/own/plugin.so") == "EFA");  // nobody knows
  CHECK(transport("spcx") == "TCP");
  CHECK(transport("none") == "TCP");
  CHECK(transport("aws-ofi") == "TCP");  // no such file
  CHECK(transport("spcx,aws-ofi") == "TCP");
  const FabricPlan other = plan(R"({"nccl_version": "2.29.2", "plugins":
      ["libnccl-net-ofi.so"], "hcas": ["rdmap0s0"],
      "environment": "NCCL_NET_PLUGIN=aws-ofi"})");
  REQUIRE(found(other, "plugin_not_loaded"));
  for (const Finding& finding : other.findings) {
    if (finding.code != "plugin_not_loaded") continue;
    CHECK(finding.remedy == "NCCL_NET_PLUGIN=ofi");
  }
}

TEST_CASE("slow InfiniBand is storage beside a whole set of fast ports") {
  const auto list = [](const char* fast) {
    return value(plan(std::string(R"([{"name": "a", "hcas": ["mlx5_)") + fast +
                      R"( IB NDR", "mlx5_9 IB HDR"]}])"),
                 0, "NCCL_IB_HCA");
  };
  CHECK(list("[0-3]") == "=mlx5_0,mlx5_1,mlx5_2,mlx5_3");
  CHECK(list("[0-2]").empty());  // a link that was trained badly
}

TEST_CASE("published adapters count where all are there by name") {
  const auto list = [](const char* hcas) {
    return value(
        plan(std::string(R"({"product": "NVIDIA DGX H100", "hcas": )") + hcas +
             "}"),
        0, "NCCL_IB_HCA");
  };
  CHECK(list(R"(["mlx5_[0-11] IB"])") ==
        "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11");
  CHECK(list(R"(["mlx5_[0-7] IB"])").empty());
  CHECK(list(R"([{"name": "mlx5_[0-11]", "link_layer": "IB", "vf": true}])")
            .empty());
}

TEST_CASE("profile rl holds where a user keeps InfiniBand on") {
  const auto net = [](const char* environment) {
    return value(
        plan(std::string(R"([{"name": "a", "hcas": ["mlx5_0 IB"],
                      "environment": {)") +
                 environment + R"(}}, {"name": "b", "hcas": ["mlx5_0 IB"]}])",
             "grpo"),
        1, "NCCL_NET");
  };
  CHECK(net(R"("NCCL_IB_DISABLE": "0")") == "Socket");
  CHECK(net("").empty());
}

TEST_CASE("what stands in the way of GPUs counts where nobody named them") {
  for (const auto& [fact, code] :
       {std::pair{R"("acs": true)", "acs_on"},
        {R"("iommu": "yes")", "iommu_on"},
        {R"("peermem": false, "dmabuf": false)", "gdr_missing"},
        {R"("shm_bytes": "64M")", "shm_small"}}) {
    INFO(fact);
    const std::string pod = std::string(R"({"hcas": ["mlx5_0 IB"], )") + fact;
    CHECK(found(plan(pod + "}"), code));
    CHECK_FALSE(found(plan(pod + R"(, "gpus": []})"), code));
  }
}

TEST_CASE("GPUs as people name them") {
  const auto set = [](const char* gpus, const char* facts, const char* name) {
    return value(plan(std::string(R"({"hcas": [], "gpus": ")") + gpus + "\", " +
                      facts + "}"),
                 0, name);
  };
  const char* old = R"("gpu_driver": "535.129.03")";
  CHECK(set("8x RTX4090", old, "NCCL_P2P_DISABLE") == "1");
  CHECK(set("8x GeForce 4090", old, "NCCL_P2P_DISABLE") == "1");
  CHECK(set("8x NVIDIA RTX A6000", old, "NCCL_P2P_DISABLE").empty());
  const char* nvls = R"("multicast": false)";
  CHECK(set("8x NVIDIA H100 80GB HBM3", nvls, "NCCL_NVLS_ENABLE") == "0");
  CHECK(set("8x NVIDIA H100 PCIe", nvls, "NCCL_NVLS_ENABLE").empty());
  CHECK(set("4x NVIDIA L40S", nvls, "NCCL_NVLS_ENABLE").empty());
}

TEST_CASE("names are rails unless machines count their adapters otherwise") {
  const auto list = [](const char* second) {
    return value(plan(std::string(R"([{"name": "a", "hcas": ["mlx5_[0-7] IB",
                      "mlx5_8 IB DOWN"]}, {"name": "b", "hcas": )") +
                      second + "}]"),
                 0, "NCCL_IB_HCA");
  };
  // Eight there, too, and none is broken.
  CHECK(list(R"(["mlx5_[0-6] IB", "mlx5_9 IB"])").empty());
  // Both lack one of nine.
  CHECK(list(R"(["mlx5_[0-6] IB", "mlx5_7 IB DOWN", "mlx5_8 IB"])") ==
        "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6");
}

TEST_CASE("RDMA in software and a cloud's own beside real adapters") {
  const auto with = [](const char* hcas) {
    return plan(R"([{"name": "w[0-1]", "nccl_version": "2.26.2", "hcas": [)" +
                std::string(hcas) + "]}]");
  };
  const FabricPlan alone = with(R"("rxe0 Ethernet ACTIVE")");
  CHECK(alone.transport == "RoCE");
  CHECK(found(alone, "soft_roce"));
  const char* real = R"({"name": "mlx5_[0-1]", "link_layer": "Ethernet"})";
  const FabricPlan beside =
      with((std::string(R"("rxe0 Ethernet ACTIVE", )") + real).c_str());
  CHECK(value(beside, 0, "NCCL_IB_HCA") == "=mlx5_0,mlx5_1");
  CHECK(!found(beside, "soft_roce"));
  const FabricPlan azure =
      with((std::string(R"("mana_0 Ethernet ACTIVE", )") + real).c_str());
  CHECK(value(azure, 0, "NCCL_IB_HCA") == "=mlx5_0,mlx5_1");
  CHECK(with(R"("mana_0 Ethernet ACTIVE")").transport == "RoCE");
}

TEST_CASE("a device that cannot be opened keeps libfabric from EFA") {
  const auto with = [](const char* more, const char* profile = "") {
    return plan(R"([{"name": "w[0-1]", "nccl_version": "2.26.2", "plugins":
        [{"name": "libnccl-net.so", "network": "AWS Libfabric"}],
        "hcas": ["rdmap[0-7]s0 efa", )" +
                    std::string(more) + "]}]",
                profile);
  };
  const char* blocked = R"({"name": "ibp1", "driver": "mlx5",
                            "link_layer": "InfiniBand", "fails_at": "open"})";
  CHECK(found(with(blocked), "efa_blocked"));
  CHECK(with(blocked, "rdma").verdict == FabricVerdict::kRefuse);
  CHECK(!found(with(R"({"name": "ibp1", "driver": "mlx5", "device": false,
                        "link_layer": "InfiniBand", "fails_at": "open"})"),
               "efa_blocked"));
  CHECK(!found(with(R"("ibp1 InfiniBand")"), "efa_blocked"));
}

TEST_CASE("accelerated networking of Azure is no RDMA network") {
  const auto with = [](const char* vendor, const char* hcas) {
    return plan(R"([{"name": "w[0-1]", "nccl_version": "2.26.2", "vendor": ")" +
                std::string(vendor) + R"(", "hcas": [)" + hcas + "]}]");
  };
  const char* eth = R"("mlx5_0 Ethernet ACTIVE")";
  const FabricPlan alone = with("Microsoft Corporation", eth);
  CHECK(alone.transport == "TCP");
  CHECK(found(alone, "rdma_no_hca"));
  CHECK(value(alone, 0, "NCCL_NET") == "Socket");
  CHECK(with("", eth).transport == "RoCE");
  CHECK(with("", R"("mlx5_an0 Ethernet ACTIVE")").transport == "TCP");
  const FabricPlan both =
      with("Microsoft Corporation",
           R"("mlx5_ib[0-7] InfiniBand", "mlx5_an0 Ethernet")");
  CHECK(both.transport == "InfiniBand");
  CHECK(value(both, 0, "NCCL_IB_HCA").find("an0") == std::string::npos);
  CHECK(!value(both, 0, "NCCL_IB_HCA").empty());
}

TEST_CASE("most ports that do not work are named, though the job runs") {
  const auto with = [](const std::string& ports, const char* gpus = "8") {
    return plan(R"([{"name": "w", "gpus": )" + std::string(gpus) +
                R"(, "hcas": [)" + ports + "]}]");
  };
  const std::string good = R"("mlx5_[0-1] InfiniBand ACTIVE 400")";
  const FabricPlan down = with(good + R"(,"mlx5_[2-7] InfiniBand DOWN")");
  REQUIRE(found(down, "rails_dead"));
  CHECK(down.verdict == FabricVerdict::kLeave);
  CHECK(down.findings[0].text.find("6 of its 8 InfiniBand ports") !=
        std::string::npos);
  // Enough are left, or there is a port for each GPU.
  CHECK(!found(with(good + R"(,"mlx5_[2-3] InfiniBand DOWN")"), "rails_dead"));
  CHECK(!found(with(good + R"(,"mlx5_[2-7] InfiniBand DOWN")", "2"),
               "rails_dead"));
  // Second ports of cards, and ports of the other network.
  CHECK(!found(with(R"({"name": "mlx5_0", "pci": "0000:06:00.0",
      "link_layer": "InfiniBand"}, {"name": "mlx5_1", "pci": "0000:06:00.1",
      "link_layer": "InfiniBand", "state": "DOWN"}, {"name": "mlx5_2",
      "pci": "0000:06:00.2", "link_layer": "InfiniBand", "state": "DOWN"})"),
               "rails_dead"));
  CHECK(!found(with(good + R"(,"mlx5_[2-7] Ethernet DOWN")"), "rails_dead"));
}

TEST_CASE("an address of a tunnel is none for RDMA") {
  const auto with = [](const char* kind, const char* name) {
    const std::string tunnel = name;
    return plan(R"([{"name": "w", "nccl_version": "2.27.5", "hcas": [{"name":
      "mlx5_0", "link_layer": "Ethernet", "netdev": "eth1", "gids": [
      "0 v1 fe80::1 eth1", "1 v2 fe80::1 eth1", "2 v1 10.1.0.1 )" +
                tunnel + R"(", "3 v2 10.1.0.1 )" + tunnel +
                R"(", "4 v1 10.2.0.1 eth1", "5 v2 10.2.0.1 eth1"]}],
      "netdevs": ["eth1 10.2.0.1/24", {"name": ")" +
                tunnel + R"(", "kind": ")" + kind +
                R"(", "addresses": ["10.1.0.1/24"]}]}])");
  };
  for (const auto& [kind, name] :
       {std::pair{"vxlan", "storage"}, std::pair{"", "vxlan100"},
        std::pair{"tunnel", "b3"}}) {
    const FabricPlan tunnel = with(kind, name);
    CHECK(value(tunnel, 0, "NCCL_IB_GID_INDEX") == "5");
    CHECK(value(tunnel, 0, "UCX_IB_GID_INDEX") == "5");
  }
  CHECK(value(with("vlan", "eth1.7"), 0, "NCCL_IB_GID_INDEX").empty());
  CHECK(value(with("vlan", "eth1.7"), 0, "UCX_IB_GID_INDEX").empty());
}

TEST_CASE("one index for UCX is right for every adapter, or not set") {
  const auto with = [](const char* second) {
    return plan(std::string(R"([{"name": "w", "nccl_version": "2.27.5",
      "environment": "NCCL_IB_GID_INDEX=5", "hcas":
      [{"name": "mlx5_0", "link_layer": "Ethernet", "netdev": "eth1", "gids": [
      "1 v2 fe80::1 eth1", "3 v2 10.1.0.1 vxlan1", "5 v2 10.2.0.1 eth1"]},
      {"name": "mlx5_1", "link_layer": "Ethernet", "netdev": "eth2", "gids": [)") +
                second + R"(]}], "netdevs": ["eth1 10.2.0.1/24",
      "eth2 10.3.0.1/24", "vxlan1 10.1.0.1/24"]}])");
  };
  const FabricPlan same = with(R"("3 v2 10.4.0.1 eth2", "5 v2 10.3.0.1 eth2")");
  CHECK(value(same, 0, "UCX_IB_GID_INDEX") == "5");
  const FabricPlan other = with(R"("1 v2 fe80::2 eth2", "3 v2 10.3.0.1 eth2")");
  CHECK(value(other, 0, "UCX_IB_GID_INDEX").empty());
  CHECK(found(other, "ucx_gid_of_tunnel"));
}

TEST_CASE("NCCL's index takes no adapter from pods of MPI alone") {
  const auto devices = [](const char* gpus) {
    const FabricPlan both =
        plan(std::string(R"([{"name": "w[0-1]", "gpus": )") + gpus +
             R"(, "ucx": "1.15.0", "hcas": [{"name": "mlx5_0", "link_layer":
      "Ethernet", "netdev": "eth1", "gids": ["3 v2 10.1.0.[4-5] vxlan1",
      "5 v2 10.2.0.[4-5] eth1"]}, {"name": "mlx5_1", "link_layer": "Ethernet",
      "netdev": "eth2", "gids": ["3 v2 10.3.0.[4-5] eth2"]}], "netdevs":
      ["eth1 10.2.0.[4-5]/24", "eth2 10.3.0.[4-5]/24",
      "vxlan1 10.1.0.[4-5]/24"]}])");
    return std::count_if(both.pods[0].ports.begin(), both.pods[0].ports.end(),
                         [](auto& port) { return port.chosen; });
  };
  CHECK(devices("[]") == 2);
  CHECK(devices("8") == 1);
}

TEST_CASE("NCCL 2.13 is told that there is no DMA-BUF") {
  const auto set = [](const char* version, const char* more) {
    return value(plan(std::string(R"([{"name": "w[0-1]", "nccl_version": ")") +
                      version + R"(", "gpus": 8, "peermem": true, "hcas":
      ["mlx5_[0-3] InfiniBand ACTIVE"])" +
                      more + "}]"),
                 0, "NCCL_DMABUF_ENABLE");
  };
  CHECK(set("2.13.4", R"(, "dmabuf": false)") == "0");
  CHECK(set("2.14.3", R"(, "dmabuf": false)").empty());
  CHECK(set("2.12.12", R"(, "dmabuf": false)").empty());
  CHECK(set("2.13.4", R"(, "dmabuf": true)").empty());
  CHECK(set("2.13.4", "").empty());
}

TEST_CASE("a guest's IOMMU counts where copies come out wrong") {
  const auto told = [](const char* more) {
    return found(plan(std::string(R"([{"name": "guest", "virtual_machine": true,
      "iommu": true, "hcas": [], "gpus": "2x NVIDIA GeForce RTX 4090")") +
                      more + "}]"),
                 "iommu_on");
  };
  CHECK(told(R"(, "p2p_works": false)"));
  CHECK(!told(R"(, "p2p_works": true)"));
  CHECK(!told(""));
}

TEST_CASE("a graph file of more GPUs than the pod has is a warning") {
  const auto severity = [](const char* gpus) {
    const FabricPlan file = plan(
        R"([{"name": "w", "hcas": [], "gpus": )" + std::string(gpus) +
        R"(, "nccl_conf": ["NCCL_GRAPH_FILE=/opt/microsoft/ncv4/graph.xml"]}])");
    for (const Finding& finding : file.findings) {
      if (finding.code == "lint_graph_file") return finding.severity;
    }
    FAIL("not found");
    return Severity::kError;
  };
  CHECK(severity("2") == Severity::kWarning);
  CHECK(severity("4") == Severity::kInfo);
}

TEST_CASE("what keeps NVLink of a rack apart is refused") {
  const auto verdict = [](const char* gpu, const char* one, const char* other) {
    const auto pod = [&](const char* name, const char* value) {
      return std::string(R"({"name": ")") + name + R"(", "gpus": "4x )" + gpu +
             R"(", "imex_channel": true, "hcas": "mlx5_[0-3] IB ACTIVE 400",
             "environment": {)" +
             value + "}}";
    };
    return plan("[" + pod("a", one) + "," + pod("b", other) + "]").verdict;
  };
  constexpr const char* kOff = R"("NCCL_CUMEM_ENABLE": "0")";
  constexpr const char* kOn = R"("NCCL_CUMEM_ENABLE": "1")";
  CHECK(verdict("NVIDIA GB200", kOff, "") == FabricVerdict::kRefuse);
  CHECK(verdict("NVIDIA GB200", kOff, kOn) == FabricVerdict::kRefuse);
  CHECK(verdict("NVIDIA GB200", kOn, "") == FabricVerdict::kWarn);
  // No rack: NCCL asks for cuMem inside a machine only.
  CHECK(verdict("NVIDIA H100", kOff, "") == FabricVerdict::kWarn);
}

TEST_CASE("a provider for adapters that are not there") {
  const auto says = [](const char* provider, const char* hcas) {
    return found(
        plan(R"([{"name": "w", "hcas": [)" + std::string(hcas) +
             R"(], "environment": {"FI_PROVIDER": ")" + provider + R"("}}])"),
        "lint_fi_provider");
  };
  CHECK(says("psm3", ""));
  CHECK(says("psm2", R"("mlx5_0 InfiniBand ACTIVE 100")"));
  CHECK(!says("psm3", R"("irdma0 Ethernet ACTIVE 100")"));
  CHECK(!says("opx", R"("hfi1_0 InfiniBand ACTIVE 100")"));
  CHECK(!says("tcp", ""));
  CHECK(!says("^psm3", ""));
}

TEST_CASE("NCCL older than the GPUs is told") {
  const auto told = [](const char* gpu, const char* nccl) {
    return found(plan(R"({"name": "w0", "nccl_version": ")" +
                      std::string(nccl) + R"(", "gpus": "2x )" + gpu + "\"}"),
                 "nccl_too_old");
  };
  CHECK(told("NVIDIA GeForce RTX 5090", "2.25.1"));
  CHECK(!told("NVIDIA GeForce RTX 5090", "2.26.2"));
  CHECK(told("NVIDIA B200", "2.23.4"));
  CHECK(!told("NVIDIA GB200", "2.25.1"));
  CHECK(!told("NVIDIA H100 80GB HBM3", "2.18.1"));
  CHECK(!told("NVIDIA GeForce RTX 4090", "2.18.1"));
}

TEST_CASE("a mistake of NCCL on Arm is a remark") {
  const auto told = [](const char* names, const char* gpu, const char* nccl) {
    return found(plan(R"([{"name": ")" + std::string(names) +
                      R"(", "hcas": ["mlx5_0 IB ACTIVE"],
                         "nccl_version": ")" +
                      nccl + R"(", "gpus": "4x )" + gpu + "\"}]"),
                 "nccl_bug");
  };
  CHECK(told("w[0-1]", "NVIDIA GB200", "2.28.9"));
  CHECK(!told("w[0-1]", "NVIDIA GB200", "2.29.3"));
  CHECK(!told("w[0-1]", "NVIDIA B200", "2.28.9"));
  CHECK(!told("w0", "NVIDIA GB200", "2.28.9"));
}
