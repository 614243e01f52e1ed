// SPDX-License-Identifier: Apache-2.0
// What a few facts say: the machine's name alone, a limit, a link's physical
// state, NCCL's own word that there is no adapter; and the same facts where
// they say nothing.
#include "plan_of.h"

using namespace muster;

namespace {

FabricPlan of_shape(const char* shape, const std::string& more = "") {
  return plan(R"([{"name": "w[0-1]", "shape": ")" + std::string(shape) + "\"" +
              more + "}]");
}

}  // namespace

TEST_CASE("a machine's name tells its network where nobody told the adapters") {
  CHECK(of_shape("p5.48xlarge").transport == "EFA");
  CHECK(of_shape("p5.4xlarge").transport == "unknown");  // may have one
  CHECK(of_shape("g5.48xlarge").transport == "unknown");
  CHECK(of_shape("Standard_ND96isr_H100_v5").transport == "InfiniBand");
  CHECK(of_shape("Standard_NC24rs_v3").transport == "InfiniBand");
  CHECK(of_shape("Standard_NC80adis_H100_v5").transport == "unknown");
  CHECK(of_shape("Standard_HB120rs_v3").transport == "InfiniBand");
  CHECK(of_shape("a3-ultragpu-8g").transport == "RoCE");
  CHECK(of_shape("a2-highgpu-8g").transport == "unknown");
  const auto azure = of_shape("Standard_ND96isr_H100_v5",
                              R"(, "files": ["/opt/x/ndv5-topo.xml"])");
  CHECK(value(azure, 0, "NCCL_TOPO_FILE") == "/opt/x/ndv5-topo.xml");
  CHECK(azure.verdict == FabricVerdict::kSet);
}

TEST_CASE("what was looked for counts more than the machine's name") {
  CHECK(of_shape("p5.48xlarge", R"(, "hcas": [])").transport == "TCP");
  CHECK(of_shape("p5.48xlarge", R"(, "uverbs": false)").transport == "TCP");
  // The plugin is known to be missing, and nobody looked for adapters.
  CHECK(of_shape("p5.48xlarge", R"(, "plugins": [])").transport == "unknown");
  CHECK(of_shape("p5.48xlarge", R"(, "plugins": ["libnccl-net-ofi.so"])")
            .transport == "EFA");
  CHECK(
      of_shape("p5.48xlarge", R"(, "plugins": ["libnccl-net.so"])").transport ==
      "EFA");
  // A pod that is alone has no network to choose.
  CHECK(plan(R"({"name": "w0", "shape": "p5.48xlarge"})").transport ==
        "unknown");
}

TEST_CASE("a small limit is told where the network is not") {
  const auto limit = [](const char* size) {
    return found(plan(R"([{"name": "w[0-1]", "memlock_bytes": ")" +
                      std::string(size) + "\"}]"),
                 "memlock_small");
  };
  CHECK(limit("64 KiB"));
  CHECK(limit("64 MiB"));  // what systemd gives a service
  CHECK(!limit("65 MiB"));
  CHECK(!limit("unlimited"));
  CHECK(!found(plan(R"([{"name": "w[0-1]", "hcas": [],
      "memlock_bytes": "64 KiB"}])"),
               "memlock_small"));
}

TEST_CASE("a link without another end is down") {
  const auto transport = [](const char* state) {
    return plan(R"([{"name": "w[0-1]", "hcas": [{"name": "mlx5_0",
        "link_layer": "InfiniBand", )" +
                std::string(state) + "}]}]")
        .transport;
  };
  CHECK(transport(R"("phys_state": "Polling")") == "TCP");
  CHECK(transport(R"("phys_state": "3: Disabled")") == "TCP");
  CHECK(transport(R"("phys_state": "LinkUp")") == "InfiniBand");
  CHECK(transport(R"("phys_state": "Polling", "state": "ACTIVE")") ==
        "InfiniBand");
}

TEST_CASE("NCCL's log says that there is no adapter") {
  const auto told = plan(R"([{"name": "w[0-1]", "nccl_log":
      "h:1:1 [0] NCCL INFO NET/IB : No device found."}])");
  CHECK(told.transport == "TCP");
  CHECK(plan(R"([{"name": "w[0-1]", "hcas": ["mlx5_0 IB ACTIVE"], "nccl_log":
      "h:1:1 [0] NCCL INFO NET/IB : No device found."}])")
            .transport == "InfiniBand");
}

TEST_CASE("who rules RDMA out is not asked for adapters") {
  CHECK(!found(plan(R"([{"name": "w[0-1]",
      "environment": {"NCCL_IB_DISABLE": "1"}}])"),
               "fabric_unknown"));
  CHECK(found(plan(R"([{"name": "w[0-1]"}])"), "fabric_unknown"));
}

TEST_CASE("interfaces of one network have one MTU") {
  const auto told = [](int first, int second, const char* address,
                       const char* hcas) {
    return plan(R"([{"name": "a", "hcas": )" + std::string(hcas) +
                R"(, "netdevs": [{"name": "eth0", "addresses": ["10.0.0.1/24"],
            "mtu": )" +
                std::to_string(first) + R"(}]}, {"name": "b", "hcas": )" +
                hcas + R"(, "netdevs": [{"name": "eth0", "addresses": [")" +
                address + R"("], "mtu": )" + std::to_string(second) + "}]}]");
  };
  CHECK(found(told(9000, 1500, "10.0.0.2/24", "[]"), "mtu_differs"));
  CHECK(!found(told(1500, 1500, "10.0.0.2/24", "[]"), "mtu_differs"));
  CHECK(!found(told(9000, 1500, "10.0.1.2/24", "[]"), "mtu_differs"));
  // The data goes over the adapters: a remark.
  const auto ib = told(9000, 1500, "10.0.0.2/24", R"(["mlx5_0 IB ACTIVE"])");
  CHECK(found(ib, "mtu_differs"));
  CHECK(ib.verdict == FabricVerdict::kLeave);
}

TEST_CASE("an adapter's line may name its interface") {
  const auto facts = read_facts(
      R"({"hcas": ["mlx5_0 RoCE ACTIVE 100 enp216s0", "mlx5_1 IB ib1"]})", "t");
  REQUIRE(facts.has_value());
  const auto& hcas = *facts->pods[0].hcas;
  CHECK(hcas[0].ports[0].netdev == "enp216s0");
  CHECK(hcas[1].ports[0].netdev == "ib1");
  CHECK(!read_facts(R"({"hcas": ["mlx5_0 RoCE fibre"]})", "t").has_value());
}

TEST_CASE("SageMaker's names of machines are Amazon's") {
  CHECK(of_shape("ml.p5e.48xlarge").transport == "EFA");
  CHECK(of_shape("ml.g5.48xlarge").transport == "unknown");
}

TEST_CASE("without peer memory somebody has to know of DMA-BUF") {
  const auto told = [](const char* pod, const char* gpu) {
    return found(
        plan(R"([{"name": "w[0-1]", "hcas": ["mlx5_0 IB ACTIVE"],
        "peermem": false)" +
             std::string(pod) + R"(, "gpus": [{"name": "H100")" + gpu + "}]}]"),
        "gdr_missing");
  };
  CHECK(told("", ""));
  CHECK(!told(R"(, "nccl_version": "2.21.5")", ""));
  CHECK(!told(R"(, "dmabuf": true)", ""));
  CHECK(!told("", R"(, "dmabuf": true)"));
  CHECK(!found(plan(R"([{"name": "w[0-1]", "hcas": ["mlx5_0 IB ACTIVE"],
      "peermem": false, "gpus": "4x NVIDIA GB200"}])"),
               "gdr_missing"));
}

TEST_CASE("distances that differ are a machine's design, not a flat topology") {
  const auto verdict = [](const char* second, const char* more) {
    return plan(R"([{"name": "w[0-1]", "hcas": ["mlx5_[0-1] IB ACTIVE"],
        "gpus": [{"name": "V100", "nics": {"mlx5_0": "NODE", "mlx5_1": ")" +
                std::string(second) + "\"}}]" + more + "}]")
        .verdict;
  };
  CHECK(verdict("SYS", "") == FabricVerdict::kLeave);
  CHECK(verdict("NODE", "") == FabricVerdict::kWarn);
  CHECK(verdict("SYS", R"(, "virtual_machine": true)") == FabricVerdict::kWarn);
}
