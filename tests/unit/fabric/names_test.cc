// SPDX-License-Identifier: Apache-2.0
// Users' variables of other programs than NCCL: names and addresses that the
// pod has not, and names that nobody reads.
#include "plan_of.h"

using namespace muster;

namespace {

// Two pods with these variables.
FabricPlan with(const std::string& variables, const std::string& more = "") {
  return plan(R"([{"name": "w[0-1]", "hcas": ["mlx5_[0-1] RoCE ACTIVE"],
      "netdevs": ["lo 127.0.0.1/8", "eth0 10.0.0.[4-5]/24 default",
                  "net1 10.1.0.[4-5]/24"],
      "environment": ")" +
              variables + "\"" + more + "}]");
}

}  // namespace

TEST_CASE("interfaces of other programs are looked for in the pod") {
  for (const char* right :
       {"TP_SOCKET_IFNAME=eth0", "HOROVOD_GLOO_IFACE=eth0", "FI_TCP_IFACE=net1",
        "OMPI_MCA_oob_tcp_if_include=10.0.0.0/16",
        "OMPI_MCA_oob_tcp_if_include=eth0,net1", "CCL_KVS_IFACE=eth",
        "HCCL_SOCKET_IFNAME=^lo", "PRTE_MCA_prte_if_include=eth0",
        "TP_SOCKET_IFNAME="}) {
    INFO(right);
    CHECK(!found(with(right), "lint_missing_name"));
  }
  for (const char* wrong :
       {"TP_SOCKET_IFNAME=ens5", "HOROVOD_GLOO_IFACE=eth", "FI_TCP_IFACE=ib0",
        "OMPI_MCA_oob_tcp_if_include=10.9.0.0/16",
        "OMPI_MCA_oob_tcp_if_include=eth0,eth1", "CCL_KVS_IFACE=hsn0",
        "HCCL_SOCKET_IFNAME=enp", "I_MPI_HYDRA_IFACE=ib0"}) {
    INFO(wrong);
    CHECK(found(with(wrong), "lint_missing_name"));
  }
}

TEST_CASE("adapters of other programs are looked for in the pod") {
  for (const char* right :
       {"NVSHMEM_HCA_LIST=mlx5_0:1,mlx5_1:1", "NVSHMEM_HCA_LIST=^mlx5_1",
        "NVSHMEM_HCA_PE_MAPPING=mlx5_0:1:2,mlx5_1:1:2", "MV2_IBA_HCA=mlx5_1",
        "HCOLL_MAIN_IB=mlx5_0:1", "OMPI_MCA_btl_openib_if_include=mlx5_0"}) {
    INFO(right);
    CHECK(!found(with(right), "lint_missing_name"));
  }
  for (const char* wrong :
       {"NVSHMEM_HCA_LIST=ibp0", "MV2_IBA_HCA=mlx5_0:mlx5_2",
        "NVSHMEM_HCA_PE_MAPPING=mlx5_0:1:2,mlx5_6:1:2",
        "HCOLL_MAIN_IB=mlx4_0:1"}) {
    INFO(wrong);
    CHECK(found(with(wrong), "lint_missing_name"));
  }
  // Nobody told the adapters.
  CHECK(!found(plan(R"([{"name": "w[0-1]", "netdevs": ["eth0"],
      "environment": {"NVSHMEM_HCA_LIST": "ibp0"}}])"),
               "lint_missing_name"));
}

TEST_CASE("ranks of other pods do not meet at lo") {
  CHECK(found(with("MASTER_ADDR=localhost"), "lint_master_address"));
  CHECK(found(with("MASTER_ADDR=127.0.0.1"), "lint_master_address"));
  CHECK(!found(with("MASTER_ADDR=10.0.0.4"), "lint_master_address"));
  CHECK(!found(with("MASTER_ADDR=w0.svc"), "lint_master_address"));
  // As operators write it: the first pod by lo, the others by its name.
  CHECK(!found(plan(R"([{"name": "master-0", "environment":
      {"MASTER_ADDR": "localhost"}}, {"name": "worker-0", "environment":
      {"MASTER_ADDR": "master-0"}}])"),
               "lint_master_address"));
  CHECK(!found(plan(R"({"name": "w0", "environment":
      {"MASTER_ADDR": "127.0.0.1"}})"),
               "lint_master_address"));
  CHECK(found(with("VLLM_HOST_IP=127.0.0.1"), "lint_own_address"));
  CHECK(found(with("VLLM_HOST_IP=10.0.0.4"), "lint_own_address"));  // of w1
  CHECK(!found(plan(R"([{"name": "w[0-1]",
      "netdevs": ["eth0 10.0.0.[4-5]/24 default"],
      "environment": {"VLLM_HOST_IP": "10.0.0.[4-5]"}}])"),
               "lint_own_address"));
}

TEST_CASE("one slip makes a variable that nobody reads") {
  for (const char* wrong :
       {"UCX_NET_DEVICE=all", "UCX_TL=rc", "FI_PROVIDERS=efa",
        "GLOO_SOCKET_IFNAMES=eth0", "Ucx_Tls=tcp", "MASTER_ADRR=w0",
        "OMPI_MCA_btl_tcp_if_includes=eth0", "FI_EFA_USE_DEVIEC_RDMA=1"}) {
    INFO(wrong);
    CHECK(found(with(wrong), "lint_unknown_name"));
  }
  for (const char* right :
       {"UCX_NET_DEVICES=all", "UCX_TLS=rc,tcp", "UCX_IB_SL=1", "UCX_LOG=info",
        "UCC_TLS=ucp", "FI_PROVIDER=verbs", "OMPI_MCA_plm=rsh",
        "OMPI_MCA_btl=self,tcp", "OMPI_MCA_btl_tcp_if_exclude=lo",
        "TP_SOCKET_IFNAME=eth0", "MASTER_PORT=29500"}) {
    INFO(right);
    CHECK(!found(with(right), "lint_unknown_name"));
  }
  // A variable of the script's own beside the one that counts.
  CHECK(!found(with("master_addr=n0 MASTER_ADDR=n0"), "lint_unknown_name"));
}

TEST_CASE("words that choose a network are known by some version") {
  for (const char* right :
       {"UCX_TLS=rc,sm,self", "UCX_TLS=^cuda_ipc", "UCX_TLS=ib,tcp",
        "UCX_TLS=rc_x,ud:aux,cuda_copy", "UCX_TLS=all", "FI_PROVIDER=EFA",
        "FI_PROVIDER=verbs;ofi_rxm", "FI_PROVIDER=^psm3,psm3;ofi_rxd",
        "OMPI_MCA_pml=^ucx", "OMPI_MCA_btl=^openib,ofi",
        "OMPI_MCA_btl=self,vader,tcp", "I_MPI_OFI_PROVIDER=mlx"}) {
    INFO(right);
    CHECK(!found(with(right), "lint_word"));
  }
  for (const char* wrong :
       {"UCX_TLS=rdma,self", "UCX_TLS=openib,sm", "FI_PROVIDER=ib",
        "OMPI_MCA_pml=openib", "OMPI_MCA_btl=self,tpc", "OMPI_MCA_mtl=ucx",
        "I_MPI_OFI_PROVIDER=dapl"}) {
    INFO(wrong);
    CHECK(found(with(wrong), "lint_word"));
  }
}

TEST_CASE("Open MPI 3 and 4 have vader for sm") {
  const auto told = [](const char* version, const char* btl) {
    return found(with("OMPI_MCA_btl=" + std::string(btl),
                      R"(, "mpi": "Open MPI )" + std::string(version) + "\""),
                 "lint_btl_sm");
  };
  CHECK(told("4.0.5", "tcp,sm,self"));
  CHECK(!told("4.0.5", "tcp,vader,self"));
  CHECK(!told("4.0.5", "^sm"));
  CHECK(!told("5.0.3", "tcp,sm,self"));
  CHECK(!told("1.10.2", "tcp,sm,self"));
}
