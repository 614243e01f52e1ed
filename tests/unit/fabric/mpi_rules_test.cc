// SPDX-License-Identifier: Apache-2.0
// MPI's own libraries: UCX over TCP, lines for mpirun, providers that a user
// chose, and the plugins of NCCL that an empty value means.
#include "base/text.h"
#include "plan_of.h"

using namespace muster;

namespace {

// Two pods, of which the second's texts differ where the first has brackets.
std::string two(const std::string& fields) {
  return R"([{"name": "w[0-1]", )" + fields + "}]";
}

Severity severity(const FabricPlan& plan, const std::string& code) {
  for (const Finding& finding : plan.findings) {
    if (finding.code == code) return finding.severity;
  }
  FAIL(code << " is not among the findings");
  return Severity::kInfo;
}

}  // namespace

TEST_CASE("UCX on TCP keeps off bridges, whatever NCCL uses") {
  const auto devices = [](const char* tls, const char* more) {
    return value(
        plan(two(R"("nccl_version": "2.27.7", "hcas": ["mlx5_[0-1] IB ACTIVE",
             "mlx5_2 Ethernet ACTIVE"], "environment": {"UCX_TLS": ")" +
                 std::string(tls) + R"("}, "netdevs":
             ["eth0 10.0.0.[4-5]/24 default")" +
                 more + "]")),
        0, "UCX_NET_DEVICES");
  };
  const char* docker = R"(, {"name": "docker0", "addresses": "172.17.0.1/16"})";
  CHECK(devices("tcp", docker) == "eth0");
  CHECK(devices("sm,tcp,cuda_copy", docker) == "eth0");
  CHECK(devices("tcp", "").empty());  // no adapters, which it may not use
  CHECK(devices("rc,tcp", docker) == "mlx5_0:1,mlx5_1:1");
  CHECK(devices("ud_x,tcp", docker) == "mlx5_0:1,mlx5_1:1");
  CHECK(devices("all", docker) == "mlx5_0:1,mlx5_1:1");
}

TEST_CASE("what is written of UCX shows that it is there") {
  const auto devices = [](const char* more) {
    return value(plan(two(std::string(R"("hcas": [], "netdevs":
        ["ens1 10.0.0.[4-5]/24 default", "ens2 10.9.[0-1].4/24"])") +
                          more)),
                 1, "UCX_NET_DEVICES");
  };
  CHECK(devices("").empty());
  CHECK(devices(R"(, "ucx": {"version": "1.15.0"})") == "ens1");
  CHECK(devices(R"(, "ucx": {"cuda_aware": false})") == "ens1");
  CHECK(devices(R"(, "environment": {"UCX_TLS": "tcp"})") == "ens1");
}

TEST_CASE("a line for all pods names networks where interfaces differ") {
  const auto line = [](const std::string& first, const std::string& second,
                       const char* mpi) {
    const auto pod = [&](const char* name, const std::string& netdev) {
      return std::string(R"({"name": ")") + name +
             R"(", "hcas": [], "gpus": [], "mpi": ")" + mpi +
             R"(", "netdevs": [")" + netdev + " default\"]}";
    };
    return join(
        plan("[" + pod("a", first) + "," + pod("b", second) + "]").mpirun_args,
        " ");
  };
  const char* ompi = "Open MPI 5.0.5";
  CHECK(line("eth0 10.0.0.1/24", "eth0 10.0.0.2/24", ompi).ends_with(" eth0"));
  CHECK(line("eth0 10.0.0.1/24", "ens3 10.0.0.2/24", ompi)
            .ends_with(" 10.0.0.0/24"));
  CHECK(line("eth0 10.0.1.1/24", "ens3 10.0.2.2/24", ompi)
            .ends_with(" 10.0.1.0/24,10.0.2.0/24"));
  CHECK(line("eth0 10.0.0.1", "ens3 10.0.0.2", ompi).find("if_include") ==
        std::string::npos);
  CHECK(line("eth0 10.0.0.1/24", "ens3 10.0.0.2/24", "MPICH 4.2")
            .find("-iface") == std::string::npos);
}

// 3 and 4 have vader and refuse sm; 5 has sm, and vader as its old name.
TEST_CASE("shared memory has the name that the Open MPI of the pods knows") {
  const auto names = [](const std::string& mpi) {
    const FabricPlan made = plan(
        two(R"("hcas": [], "netdevs": ["eth0 10.0.0.[4-5]/24 default"])" + mpi),
        "tcp");
    const std::string line = join(made.mpirun_args, " ");
    const std::string set = value(made, 0, "OMPI_MCA_btl");
    if (!set.empty()) CHECK(line.find("--mca btl " + set) != line.npos);
    return line.find("tcp,self,sm") != line.npos ? "sm" : "vader";
  };
  const auto version = [](const std::string& text) {
    return R"(, "mpi": {"family": "openmpi", "version": ")" + text + "\"}";
  };
  CHECK(names(version("3.1.0")) == std::string("vader"));
  CHECK(names(version("4.1.4")) == std::string("vader"));
  CHECK(names(version("5.0.7")) == std::string("sm"));
  CHECK(names(version("10.0.1")) == std::string("sm"));
  CHECK(names(R"(, "mpi": {"family": "openmpi"})") == std::string("vader"));
  CHECK(names("") == std::string("vader"));
}

TEST_CASE("EFA without RDMA read ends who asks for it") {
  const auto told = [](const char* shape, const char* value,
                       const char* more = "") {
    return plan(two(std::string(R"("shape": ")") + shape +
                    R"(", "nccl_version": "2.27.7", "plugins":
        [{"name": "libnccl-net.so", "network": "AWS Libfabric"}], "hcas":
        ["rdmap0s6 efa ACTIVE"], "environment":
        {"FI_EFA_USE_DEVICE_RDMA": ")" +
                    value + "\"}" + more));
  };
  for (const char* on : {"1", "true", "Yes", "on"}) {
    INFO(on);
    CHECK(severity(told("g5.48xlarge", on), "lint_efa_rdma") ==
          Severity::kError);
  }
  CHECK(!found(told("p4d.24xlarge", "1"), "lint_efa_rdma"));
  CHECK(!found(told("g6.48xlarge", "1"), "lint_efa_rdma"));
  CHECK(severity(told("p4d.24xlarge", "false"), "lint_efa_rdma") ==
        Severity::kWarning);
  CHECK(!found(told("g5.48xlarge", "0"), "lint_efa_rdma"));  // as it is
  // Before 1.17 libfabric passed over it.
  const auto with = [&](const char* version) {
    const std::string more =
        std::string(R"(, "libfabric": {"version": ")") + version + "\"}";
    return severity(told("p3dn.24xlarge", "1", more.c_str()), "lint_efa_rdma");
  };
  CHECK(with("1.14") == Severity::kWarning);
  CHECK(with("1.17") == Severity::kError);
}

TEST_CASE("a provider left out by MPI's user is no matter of NCCL's plugin") {
  const auto text = [](const char* gpus) {
    const FabricPlan told =
        plan(two(std::string(R"("gpus": )") + gpus +
                 R"(, "plugins": [{"name": "libnccl-net.so", "network":
        "AWS Libfabric"}], "hcas": ["rdmap0s6 efa ACTIVE"],
        "environment": "FI_PROVIDER=TCP")"));
    for (const Finding& finding : told.findings) {
      if (finding.code == "lint_fi_provider") return finding.text;
    }
    return std::string();
  };
  CHECK(text("[]").find("FI_PROVIDER=TCP keeps") != std::string::npos);
  CHECK(text("[]").find("NCCL") == std::string::npos);
  CHECK(text("8").find("NCCL uses TCP") != std::string::npos);
}

TEST_CASE("Open MPI 4 leaves InfiniBand to UCX") {
  const auto warned = [](const char* environment,
                         const char* mpi = "Open MPI 4.0.0",
                         const char* link = "InfiniBand") {
    return found(
        plan(two(std::string(R"("gpus": [], "mpi": ")") + mpi +
                 R"(", "hcas": ["mlx5_0 )" + link +
                 R"( ACTIVE"], "environment": ")" + environment + "\"")),
        "lint_openib");
  };
  const char* named = "OMPI_MCA_pml=^ucx OMPI_MCA_btl_openib_if_include=mlx5_0";
  CHECK(warned(named));
  CHECK(warned("OMPI_MCA_pml=ob1 OMPI_MCA_btl=openib,self,vader"));
  CHECK(!warned("OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self,vader"));
  CHECK(!warned("OMPI_MCA_pml=^ucx"));  // nothing says that openib is meant
  CHECK(!warned("OMPI_MCA_btl=openib,self,vader"));  // UCX comes first
  CHECK(
      !warned("OMPI_MCA_pml=ob1 OMPI_MCA_btl=openib,self,vader "
              "OMPI_MCA_btl_openib_allow_ib=true"));
  CHECK(!warned(named, "Open MPI 3.1.6"));
  CHECK(!warned(named, "Open MPI 4.0.0", "Ethernet"));
}

TEST_CASE("Intel MPI has mlx for InfiniBand") {
  const auto told = [](const char* providers, const char* environment) {
    return found(
        plan(two(std::string(R"("gpus": [], "mpi": "Intel MPI 2021.9",
        "hcas": ["mlx5_0 InfiniBand ACTIVE 100"], "libfabric":
        {"providers": [)") +
                 providers + R"(]}, "environment": ")" + environment + "\"")),
        "lint_fi_provider");
  };
  const char* both = R"("mlx", "verbs;ofi_rxm", "tcp")";
  CHECK(told(both, "FI_PROVIDER=verbs"));
  CHECK(told(both, "I_MPI_OFI_PROVIDER=verbs FI_PROVIDER=mlx"));
  CHECK(!told(both, "I_MPI_OFI_PROVIDER=mlx FI_PROVIDER=verbs"));
  CHECK(!told(both, "FI_PROVIDER=tcp"));
  CHECK(!told(R"("verbs;ofi_rxm", "tcp")", "FI_PROVIDER=verbs"));
}

TEST_CASE("an empty NCCL_NET_PLUGIN is none since 2.27") {
  const auto roce = [](const char* version, const char* plugin) {
    return plan(
        two(std::string(R"("nccl_version": ")") + version +
            R"(", "plugins": [{"name": "libnccl-net.so", "network": ")" +
            plugin + R"("}], "hcas": [{"name": "mlx5_0",
        "link_layer": "Ethernet", "state": "ACTIVE"}],
        "environment": {"NCCL_NET_PLUGIN": ""})"));
  };
  const FabricPlan none = roce("2.27.7", "AWS Libfabric");
  CHECK(value(none, 0, "NCCL_NET_PLUGIN").empty());
  CHECK(none.verdict == FabricVerdict::kLeave);
  CHECK(value(roce("2.26.2", "AWS Libfabric"), 0, "NCCL_NET_PLUGIN") == "none");
  CHECK(found(roce("2.26.2", "IBext_v9"), "lint_plugin_empty"));
  CHECK(!found(roce("2.27.7", "IBext_v9"), "lint_plugin_empty"));
  const auto efa = [](const char* version) {
    return plan(two(std::string(R"("nccl_version": ")") + version +
                    R"(", "plugins": [{"name": "libnccl-net.so", "network":
        "AWS Libfabric"}], "hcas": ["rdmap0s6 efa ACTIVE"],
        "environment": {"NCCL_NET_PLUGIN": ""})"));
  };
  CHECK(efa("2.26.2").transport == "EFA");
  CHECK(found(efa("2.29.2"), "plugin_not_loaded"));
}

TEST_CASE("HCOLL is told where messages are kept off RoCE") {
  const auto told = [](const char* layer, const char* version,
                       const char* variables) {
    return plan(two(R"("hcas": ["mlx5_0 )" + std::string(layer) +
                    R"( ACTIVE"], "mpi": "Open MPI )" + version +
                    R"(", "environment": ")" + variables + "\""));
  };
  const char* ob1 = "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,vader,self";
  CHECK(severity(told("RoCE", "4.0.2a1", ob1), "lint_hcoll") ==
        Severity::kWarning);
  CHECK(severity(told("IB", "4.1.7rc1", ob1), "lint_hcoll") == Severity::kInfo);
  CHECK(found(
      told("RoCE", "4.1.4", "UCX_TLS=tcp,self OMPI_MCA_coll_hcoll_enable=1"),
      "lint_hcoll"));
  for (const char* silent :
       {"OMPI_MCA_btl=tcp,self", "UCX_TLS=rc,self",
        "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_coll_hcoll_enable=0",
        "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_coll=^hcoll",
        "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self HCOLL_ENABLE_MCAST=0"}) {
    INFO(silent);
    CHECK(!found(told("RoCE", "4.0.2a1", silent), "lint_hcoll"));
  }
  CHECK(!found(told("RoCE", "4.1.4", ob1), "lint_hcoll"));  // not HPC-X'
}

TEST_CASE("HCOLL is switched off where MPI is put on TCP") {
  const auto hcoll = [](const char* more) {
    return value(plan(R"([{"name": "a", "hcas": ["mlx5_0 IB ACTIVE"])" +
                      std::string(more) + R"(}, {"name": "b", "hcas": [])" +
                      more + "}]"),
                 0, "OMPI_MCA_coll_hcoll_enable");
  };
  CHECK(hcoll("").empty());
  CHECK(hcoll(R"(, "mpi": "Open MPI 4.1.5rc2")") == "0");
  CHECK(value(plan(R"([{"name": "a", "hcas": ["mlx5_0 IB ACTIVE"],
      "mpi": "Open MPI 4.1.7a1"}, {"name": "b", "hcas": []}])"),
              0, "OMPI_MCA_coll_ucc_enable") == "0");
  CHECK(hcoll(R"(, "plugins": [{"name": "libnccl-net.so",
                                "network": "IBext_v8"}])") == "0");
  CHECK(hcoll(R"(, "mpi": "Intel MPI 2021.5rc1")").empty());
}

TEST_CASE("Open MPI offers interfaces without a carrier, too") {
  const auto include = [](const char* docker) {
    return value(plan(two(R"("hcas": [], "netdevs":
        [{"name": "eth0", "addresses": ["10.0.0.[4-5]/24"],
          "default_route": true}, {"name": "docker0",
          "addresses": ["172.17.0.1/16"], )" +
                          std::string(docker) + "}]")),
                 0, "OMPI_MCA_btl_tcp_if_include");
  };
  CHECK(include(R"("up": true, "running": false)") == "eth0");
  CHECK(include(R"("running": false)") == "eth0");
  CHECK(include(R"("up": false)").empty());
}

TEST_CASE("ud_mlx5 alone is no network to an older Open MPI") {
  const auto told = [](const char* version, const char* tls) {
    return found(plan(two(R"("hcas": ["mlx5_0 IB ACTIVE"], "mpi": "Open MPI )" +
                          std::string(version) +
                          R"(", "environment": {"UCX_TLS": ")" + tls + "\"}")),
                 "lint_ucx_tls");
  };
  CHECK(told("4.1.1", "ud_mlx5,self,sm"));
  CHECK(!told("4.1.1", "ud,self,sm"));
  CHECK(!told("4.1.1", "rc_mlx5,ud_mlx5,self"));
  CHECK(!told("4.1.2", "ud_mlx5,self,sm"));
}

TEST_CASE("UCX that its user has on TCP is kept off bridges") {
  const auto devices = [](const char* tls, const char* bridge) {
    return value(
        plan(std::string(R"({"name": "g[1-2]", "netdevs":
        ["eno1 10.0.0.[1-2]/24 default", ")") +
             bridge + R"("], "environment": {"UCX_TLS": ")" + tls + R"("}})"),
        0, "UCX_NET_DEVICES");
  };
  CHECK(devices("tcp,cuda_copy", "docker0 172.17.0.1/16") == "eno1");
  CHECK(devices("tcp,cuda_copy", "ib0 10.1.0.[1-2]/24").empty());
  CHECK(devices("rc,cuda_copy", "docker0 172.17.0.1/16").empty());
}

TEST_CASE("oneCCL meets where the pods meet") {
  const auto iface = [](const std::string& names, const char* netdevs,
                        const char* more) {
    return value(plan(R"([{"name": ")" + names + R"(", "gpus":
        {"name": "Intel Arc Pro B70", "vendor": "intel", "count": 2},
        "netdevs": [)" +
                      netdevs + "]" + more + "}]"),
                 0, "CCL_KVS_IFACE");
  };
  const char* several =
      R"("docker0 172.17.0.1/16", "eth0 10.0.0.[4-5]/24 default")";
  CHECK(iface("w[0-1]", several, "") == "eth0");
  CHECK(iface("w[0-1]", R"("eth0 10.0.0.[4-5]/24 default")", "").empty());
  const char* one = R"("docker0 172.17.0.1/16", "eth0 10.0.0.4/24 default")";
  CHECK(iface("w0", one, R"(, "hcas": [])") == "lo");
  CHECK(iface("w0", one, "").empty());  // a node of a cluster, maybe
  CHECK(
      iface("w0", R"("eth0 10.0.0.4/24 default")", R"(, "hcas": [])").empty());
  CHECK(iface("w[0-1]",
              R"({"addresses": ["172.17.0.1/16"]}, "eth0 10.0.0.[4-5]/24
              default")",
              "")
            .empty());
  CHECK(iface("w[0-1]", several,
              R"(, "environment": {"CCL_ATL_TRANSPORT": "mpi"})")
            .empty());
}

TEST_CASE("UCX 1.10.0 on TCP is kept off lo") {
  const auto devices = [](const char* version, const char* tls) {
    return value(plan(two(R"("netdevs": ["eth0 10.0.0.[4-5]/24 default"],
        "ucx": ")" + std::string(version) +
                          R"(", "environment": {"UCX_TLS": ")" + tls + "\"}")),
                 0, "UCX_NET_DEVICES");
  };
  CHECK(devices("1.10.0", "tcp") == "eth0");
  CHECK(devices("1.10.1", "tcp").empty());
  CHECK(devices("1.10.0", "rc,tcp").empty());
}

TEST_CASE("UCX 1.8.0 is told with Open MPI") {
  const auto told = [](const char* ucx, const char* more) {
    return found(plan(two(R"("hcas": ["mlx5_0 IB ACTIVE"], "gpus": 0,
        "mpi": "Open MPI 4.1.1", "ucx": ")" +
                          std::string(ucx) + "\"" + more)),
                 "ucx_bug");
  };
  CHECK(told("1.8.0", ""));
  CHECK(!told("1.9.0", ""));
  CHECK(!told("1.8.0", R"(, "environment": {"UCX_TLS": "tcp,self"})"));
}

TEST_CASE("Open MPI on TCP by its user keeps off bridges, beside RDMA") {
  const auto open_mpi = [](const char* hcas, const char* variables,
                           const char* bridge = "docker0 172.17.0.1/16") {
    return plan(two(R"("mpi": "Open MPI 4.1.5", "hcas": [)" +
                    std::string(hcas) + R"(], "netdevs":
        ["eth0 10.0.0.[4-5]/24 default", ")" +
                    bridge + R"("], "environment": ")" + variables + "\""));
  };
  const auto interface = [&](const char* hcas, const char* variables) {
    return value(open_mpi(hcas, variables), 0, "OMPI_MCA_btl_tcp_if_include");
  };
  const char* ib = R"("mlx5_0 IB ACTIVE 200")";
  const char* efa = R"("rdmap0s6 efa ACTIVE 100")";
  CHECK(interface(ib, "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self") == "eth0");
  CHECK(interface(ib, "OMPI_MCA_pml=^ucx,cm OMPI_MCA_btl=tcp,self") == "eth0");
  CHECK(interface(ib, "OMPI_MCA_pml=^cm OMPI_MCA_btl=tcp,self").empty());
  CHECK(interface(efa, "OMPI_MCA_pml=^cm OMPI_MCA_btl=tcp,self") == "eth0");
  CHECK(interface(ib, "OMPI_MCA_btl=tcp,self").empty());  // it has UCX
  CHECK(interface(ib, "OMPI_MCA_pml=ob1 OMPI_MCA_btl=openib,tcp,self").empty());
  CHECK(value(open_mpi(ib, "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self",
                       "ib0 10.1.0.[4-5]/24"),
              0, "OMPI_MCA_btl_tcp_if_include")
            .empty());  // slower would be worse than many
  const auto told = [&](const char* excluded) {
    const std::string variables =
        "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_exclude=" +
        std::string(excluded);
    return found(open_mpi(ib, variables.c_str()), "lint_bridge_left_in");
  };
  CHECK(told("lo,docker1"));
  CHECK(told("lo,docker*"));
  CHECK(!told("lo,docker0"));
  CHECK(!told("127.0.0.0/8,172.17.0.0/16"));
}

TEST_CASE("MVAPICH2 is kept on InfiniBand by its own variable") {
  const auto planned = [](const char* version, const char* variables) {
    return plan(two(R"("gpus": 0, "mpi": {"family": "mvapich", "version": ")" +
                    std::string(version) + R"("}, "hcas":
        ["mlx5_0 RoCE ACTIVE 25", "mlx5_2 IB ACTIVE 100", "mlx5_3 IB ACTIVE
        100"], "environment": ")" +
                    variables + "\""));
  };
  CHECK(value(planned("2.3.4", ""), 0, "MV2_IBA_HCA") == "mlx5_2:mlx5_3");
  CHECK(value(planned("2.3.4", ""), 0, "UCX_NET_DEVICES").empty());
  CHECK(value(planned("3.0", ""), 0, "MV2_IBA_HCA").empty());
  CHECK(value(planned("3.0", ""), 0, "UCX_NET_DEVICES") == "mlx5_2:1,mlx5_3:1");
  const FabricPlan users = planned("2.3.4", "MV2_IBA_HCA=mlx5_2:mlx5_3");
  CHECK(users.verdict == FabricVerdict::kLeave);
}

TEST_CASE("libfabric's interface for TCP is not told where it may not use it") {
  const auto iface = [](const char* provider) {
    return value(plan(two(R"("gpus": 0, "mpi": {"family": "intel"}, "hcas": [],
        "netdevs": ["eth0 10.0.0.[4-5]/24 default", "ens2 10.9.0.[4-5]/24"],
        "environment": {"FI_PROVIDER": ")" +
                          std::string(provider) + "\"}")),
                 0, "FI_TCP_IFACE");
  };
  CHECK(iface("tcp") == "eth0");
  CHECK(iface("^verbs") == "eth0");
  CHECK(iface("verbs;ofi_rxm").empty());
}

TEST_CASE("either monitor of the kernel is right for Slingshot") {
  const auto kept = [](const char* monitor) {
    for (const Finding& finding :
         plan(two(R"("hcas": ["cxi[0-3] ACTIVE 200"], "gpus": "4x A100",
         "environment": {"FI_MR_CACHE_MONITOR": ")" +
                  std::string(monitor) + R"("}, "netdevs": ["hsn[0-3]"],
         "plugins": [{"name": "libnccl-net.so", "network": "AWS Libfabric"}])"))
             .findings) {
      if (finding.text.find("FI_MR_CACHE_MONITOR") != std::string::npos) {
        return true;
      }
    }
    return false;
  };
  CHECK(kept("memhooks"));
  CHECK(!kept("userfaultfd"));
  CHECK(!kept("kdreg2"));
}

TEST_CASE("some of the adapters are as good as all of them to UCX") {
  const auto told = [](const char* devices) {
    return found(plan(two(R"("nccl_version": "2.27.7", "hcas":
        ["mlx5_[0-1] IB ACTIVE 400", "mlx5_2 Ethernet ACTIVE 100"],
        "environment": {"UCX_NET_DEVICES": ")" +
                          std::string(devices) + "\"}")),
                 "user_value_kept");
  };
  CHECK(!told("mlx5_0:1"));
  CHECK(!told("mlx5_1:1,mlx5_0:1"));
  CHECK(told("mlx5_2:1"));
}

TEST_CASE("a provider that MPICH is told leaves it without UCX and TCP") {
  const auto with = [](const char* provider) {
    return plan(two(R"("gpus": 0, "hcas": [], "mpi": {"family": "mpich"},
        "netdevs": ["eth0 10.0.0.[4-5]/24 default", "tofu1 10.9.0.[4-5]/24"],
        "environment": {"MPIR_CVAR_OFI_USE_PROVIDER": ")" +
                    std::string(provider) + "\"}"));
  };
  CHECK(with("tofu").pods[0].env().empty());
  CHECK(value(with("tcp"), 0, "FI_TCP_IFACE") == "eth0");
  CHECK(value(with("tcp"), 0, "UCX_NET_DEVICES").empty());
  CHECK(found(with("shm"), "lint_fi_provider"));
}

TEST_CASE("PSM's list of devices without the adapter is of one machine") {
  const auto told = [](const char* names, const char* variables) {
    return found(plan(R"([{"name": ")" + std::string(names) +
                      R"(", "gpus": 0, "hcas": ["hfi1_0 ACTIVE 100"],
                      "environment": ")" +
                      variables + "\"}]"),
                 "lint_psm_devices");
  };
  CHECK(told("w[0-1]", "PSM2_DEVICES=shm,self"));
  CHECK(told("w[0-1]", "PSM3_DEVICES=self,shm"));
  CHECK(!told("w0", "PSM2_DEVICES=shm,self"));
  CHECK(!told("w[0-1]", "PSM2_DEVICES=self,shm,hfi"));
  CHECK(!told("w[0-1]", "PSM3_DEVICES=self,nic"));
}

TEST_CASE("another interface of the user's for Open MPI is a remark") {
  const auto told = [](const char* names) {
    return severity(plan(two(R"("hcas": [], "gpus": 0, "mpi": "Open MPI 4.1.1",
        "netdevs": ["eth0 10.0.0.[4-5]/24 default", "eth1 10.9.0.[4-5]/24",
        "docker0 172.17.0.1/16"], "environment":
        {"OMPI_MCA_btl_tcp_if_include": ")" +
                             std::string(names) + "\"}")),
                    "user_value_kept");
  };
  CHECK(told("eth1") == Severity::kInfo);
  CHECK(told("10.9.0.0/24") == Severity::kInfo);
  CHECK(told("eth1,docker0") == Severity::kWarning);
}

TEST_CASE("HPC-X' plugin is no way to EFA, by any of its names") {
  for (const char* name : {"NCCL RDMA Plugin (v5)", "IBext_v8", "HPC-X"}) {
    const FabricPlan one = plan(two(R"("nccl_version": "2.18.3", "hcas":
        ["rdmap[0-3]s27 efa ACTIVE 100"], "plugins": [{"name":
        "libnccl-net.so", "network": ")" +
                                    std::string(name) + R"("}])"));
    CHECK(one.verdict == FabricVerdict::kTcp);
  }
}
