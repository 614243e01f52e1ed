// SPDX-License-Identifier: Apache-2.0
// Releases that fail by their published remedy: each row strikes where its
// report says, and not one version or one condition beside it.
#include "plan_of.h"

using namespace muster;

namespace {

// Two pods with an InfiniBand adapter each; fields after that.
FabricPlan pair(const std::string& fields) {
  return plan(R"([{"name": "w[0-1]", "hcas": ["mlx5_0 IB ACTIVE"], )" + fields +
              "}]");
}

FabricVerdict of_nccl(const char* version, const char* gpus,
                      const char* more = "") {
  return pair("\"nccl_version\": \"" + std::string(version) +
              "\", \"gpus\": " + gpus + more)
      .verdict;
}

bool with_mpi(const char* mpi, const std::string& more, const char* code) {
  return found(pair("\"gpus\": 0, \"mpi\": \"" + std::string(mpi) + "\"" +
                    (more.empty() ? "" : ", " + more)),
               code);
}

constexpr auto kLeave = FabricVerdict::kLeave;
constexpr auto kWarn = FabricVerdict::kWarn;

}  // namespace

TEST_CASE("NCCL before 2.4.6 hangs in long jobs") {
  CHECK(of_nccl("2.4.2", "8") == kWarn);
  CHECK(of_nccl("2.4.6", "8") == kLeave);
  CHECK(!found(plan(R"({"name": "w0", "nccl_version": "2.4.2", "gpus": 8})"),
               "nccl_bug"));
}

TEST_CASE("variables that one release of NCCL stumbles over") {
  const char* queues =
      R"(, "environment": {"NCCL_IB_QPS_PER_CONNECTION": "4"})";
  CHECK(of_nccl("2.12.7", "8", queues) == kWarn);
  CHECK(of_nccl("2.12.10", "8", queues) == kLeave);
  CHECK(of_nccl("2.12.7", "8") == kLeave);
  const char* names = R"(, "environment": {"NCCL_SET_THREAD_NAME": "1"})";
  CHECK(of_nccl("2.12.10", "8", names) == kWarn);
  CHECK(of_nccl("2.12.12", "8", names) == kLeave);
}

TEST_CASE("alltoall of NCCL 2.19 is a remark: most jobs have none") {
  const auto told = [](const char* version) {
    return found(
        pair("\"gpus\": 8, \"nccl_version\": \"" + std::string(version) + "\""),
        "nccl_bug");
  };
  CHECK(told("2.19.3"));
  CHECK(!told("2.20.3"));
  CHECK(!told("RCCL 2.19.3"));
  CHECK(of_nccl("2.19.3", "8") == kLeave);
}

TEST_CASE("GPUs of two generations need NCCL 2.24.3") {
  const auto severity = [](const char* version, const char* second) {
    const auto out =
        plan(R"([{"name": "a", "hcas": ["mlx5_0 IB ACTIVE"],
        "gpus": "8x NVIDIA H100", "nccl_version": ")" +
             std::string(version) +
             R"("}, {"name": "b", "hcas": ["mlx5_0 IB ACTIVE"],
        "gpus": "8x NVIDIA )" +
             second + R"(", "nccl_version": ")" + version + "\"}]");
    for (const Finding& finding : out.findings) {
      if (finding.code == "nccl_bug") return static_cast<int>(finding.severity);
    }
    return -1;
  };
  CHECK(severity("2.20.5", "A100") == static_cast<int>(Severity::kWarning));
  CHECK(severity("2.23.4", "A100") == static_cast<int>(Severity::kInfo));
  CHECK(severity("2.24.3", "A100") == -1);
  CHECK(severity("2.20.5", "H200") == -1);
  CHECK(severity("2.20.5", "Something") == -1);
}

TEST_CASE("the first NVLS is left out") {
  const auto nvls = [](const char* version, const char* gpus) {
    return value(pair("\"nccl_version\": \"" + std::string(version) +
                      "\", \"gpus\": \"" + gpus + "\""),
                 0, "NCCL_NVLS_ENABLE");
  };
  CHECK(nvls("2.17.1", "8x NVIDIA H100 80GB HBM3") == "0");
  CHECK(nvls("2.18.1", "8x NVIDIA H100 80GB HBM3").empty());
  CHECK(nvls("2.17.1", "8x NVIDIA A100-SXM4-80GB").empty());
  CHECK(nvls("2.17.1", "1x NVIDIA H100 80GB HBM3").empty());
  CHECK(nvls("2.17.1", "2x NVIDIA H100 PCIe").empty());
}

TEST_CASE("NVLink between machines and the NCCL that joins them") {
  const auto told = [](const char* version, const char* more) {
    return found(pair(R"("gpus": "4x NVIDIA GB200", "imex_channel": true,
        "nccl_version": ")" +
                      std::string(version) + "\"" + more),
                 "nccl_bug");
  };
  const char* file =
      R"(, "environment": {"NCCL_TOPO_FILE": "/t.xml"}, "files": ["/t.xml"])";
  const auto text = [&](const char* version, const char* more) {
    const auto out = pair(R"("gpus": "4x NVIDIA GB200", "imex_channel": true,
        "nccl_version": ")" +
                          std::string(version) + "\"" + more);
    for (const Finding& finding : out.findings) {
      if (finding.text.find("NCCL_TOPO_FILE") != std::string::npos &&
          finding.code == "nccl_bug") {
        return true;
      }
    }
    return false;
  };
  CHECK(text("2.26.5", file));
  CHECK(!text("2.26.5", ""));
  CHECK(!text("2.27.5", file));
  CHECK(told("2.27.3", ""));
}

TEST_CASE("releases of UCX below Open MPI") {
  const auto told = [](const char* ucx, const char* more) {
    return with_mpi("Open MPI 4.0.2",
                    "\"ucx\": \"" + std::string(ucx) + "\"" + more, "ucx_bug");
  };
  CHECK(told("1.6.0", ""));
  CHECK(!told("1.6.1", ""));
  CHECK(!told("1.6.0", R"(, "environment": {"UCX_TLS": "tcp,self"})"));
  CHECK(told("1.14.0", R"(, "environment": {"UCX_TLS": "^dc,ud"})"));
  CHECK(!told("1.14.1", R"(, "environment": {"UCX_TLS": "^dc,ud"})"));
  CHECK(!told("1.14.0", R"(, "environment": {"UCX_TLS": "^cuda_ipc"})"));
  CHECK(!told("1.14.0", R"(, "environment": {"UCX_TLS": "ud,self"})"));
}

TEST_CASE("releases of Open MPI and what lies below") {
  const auto told = [](const char* mpi, const char* more) {
    return with_mpi(mpi, more, "mpi_bug");
  };
  CHECK(told("Open MPI 5.0.3", R"("ucx": "1.17.0")"));
  CHECK(!told("Open MPI 5.0.5", R"("ucx": "1.17.0")"));
  CHECK(!told("Open MPI 5.0.3", R"("ucx": "1.16.0")"));
  CHECK(!told("Open MPI 5.0.3", R"("ucx": "1.17.0",
      "environment": {"OMPI_MCA_btl": "^uct"})"));
  CHECK(!told("Open MPI 5.0.3", R"("ucx": "1.17.0",
      "environment": {"OMPI_MCA_btl": "tcp,self"})"));
  CHECK(told("Open MPI 5.0.3", R"("ucx": "1.17.0",
      "environment": {"OMPI_MCA_btl": "^openib"})"));
  CHECK(told("Open MPI 4.1.1", R"("ucx": "1.11.1")"));
  CHECK(!told("Open MPI 4.1.2", R"("ucx": "1.11.1")"));
  CHECK(!told("Open MPI 4.1.1", R"("ucx": "1.11.1",
      "environment": {"OMPI_MCA_pml": "ucx"})"));
  CHECK(told("Open MPI 4.1.4", R"("libfabric": "1.11.0")"));
  CHECK(!told("Open MPI 4.1.4", R"("libfabric": "1.12.0")"));
}

TEST_CASE("Intel MPI's mlx needs a UCX of its time") {
  const auto told = [](const char* mpi, const char* ucx, const char* more) {
    return found(pair(R"("gpus": 0, "mpi": {"family": "intel", "version": ")" +
                      std::string(mpi) + R"("}, "ucx": ")" + ucx + "\"" + more),
                 "mpi_bug");
  };
  CHECK(told("2019.6", "1.5.1", ""));
  CHECK(!told("2019.6", "1.7.0", ""));
  CHECK(!told("2019.5", "1.5.1", ""));
  CHECK(!told("2019.8", "1.5.1", ""));
  CHECK(
      !told("2019.6", "1.5.1", R"(, "environment": {"FI_PROVIDER": "verbs"})"));
}

TEST_CASE("releases of aws-ofi-nccl") {
  const auto efa = [](const char* version) {
    return found(plan(R"([{"name": "w[0-1]", "gpus": 8,
        "shape": "p5en.48xlarge", "hcas": ["rdmap0s1 efa"], "plugins":
        [{"name": "libnccl-net.so", "network": "AWS Libfabric", "version": ")" +
                      std::string(version) + "\"}]}]"),
                 "plugin_bug");
  };
  CHECK(efa("1.18.0"));
  CHECK(!efa("1.20.0"));
  CHECK(!efa("1.17.0"));
  const auto cxi = [](const char* pods, const char* gpus, const char* most) {
    return found(plan("[{\"name\": \"n[1-" + std::string(pods) +
                      "]\", \"gpus\": \"4x " + gpus +
                      R"(", "hcas": ["cxi[0-3] ACTIVE 200"], "plugins":
             [{"name": "librccl-net.so", "network": "AWS Libfabric",
               "version": "1.19.2"}], "environment": {"NCCL_MAX_NCHANNELS": ")" +
                      most + "\"}}]"),
                 "plugin_bug");
  };
  CHECK(cxi("16", "AMD Instinct MI300A", "32"));
  CHECK(!cxi("16", "AMD Instinct MI300A", "20"));
  CHECK(!cxi("8", "AMD Instinct MI300A", "32"));
  CHECK(!cxi("16", "NVIDIA GH200", "32"));
}

TEST_CASE("rails of RoCE in one subnet are a remark") {
  const auto told = [](const char* second) {
    const auto out = plan(R"([{"name": "w[0-1]", "gpus": 8, "hcas":
        ["mlx5_0 RoCE ACTIVE 400 eth1", "mlx5_1 RoCE ACTIVE 400 eth2"],
        "netdevs": ["eth0 10.9.0.[1-2]/24 default", "eth1 10.1.1.[1-2]/24",
                    ")" + std::string(second) +
                          "\"]}]");
    CHECK(out.verdict == FabricVerdict::kLeave);
    return found(out, "rails_one_subnet");
  };
  CHECK(told("eth2 10.1.1.[3-4]/24"));
  CHECK(!told("eth2 10.1.2.[1-2]/24"));
}
