// SPDX-License-Identifier: Apache-2.0
// lint_spelling(): names that are one slip away from a variable of UCX, UCC,
// libfabric, MPI, Gloo, oneCCL, NVSHMEM, PyTorch or aws-ofi-nccl. Their own
// variables are many and grow, so that a name is only told where it differs by
// one letter or by its case, and never where it is known itself. NCCL's are
// looked at by lint_values.cc. Where the right name is set as well (scripts
// have a master_addr of their own) nothing is lost, and nothing is said. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/lint/lint.h"

namespace muster {

namespace {

constexpr const char* kNames[] = {
    "CCL_ATL_SHM",
    "CCL_ATL_TRANSPORT",
    "CCL_KVS_IFACE",
    "CCL_KVS_IP_EXCHANGE",
    "CCL_KVS_IP_PORT",
    "CCL_KVS_MODE",
    "CCL_PROCESS_LAUNCHER",
    "CCL_WORKER_AFFINITY",
    "CCL_WORKER_COUNT",
    "CCL_ZE_IPC_EXCHANGE",
    "FI_CXI_DEFAULT_CQ_SIZE",
    "FI_CXI_DEFAULT_TX_SIZE",
    "FI_CXI_DISABLE_HOST_REGISTER",
    "FI_CXI_OFLOW_BUF_COUNT",
    "FI_CXI_OFLOW_BUF_SIZE",
    "FI_CXI_RDZV_EAGER_SIZE",
    "FI_CXI_RDZV_GET_MIN",
    "FI_CXI_RDZV_PROTO",
    "FI_CXI_RDZV_THRESHOLD",
    "FI_CXI_REQ_BUF_MAX_COUNT",
    "FI_CXI_REQ_BUF_MIN_POSTED",
    "FI_CXI_REQ_BUF_SIZE",
    "FI_CXI_RX_MATCH_MODE",
    "FI_EFA_FORK_SAFE",
    "FI_EFA_SET_CUDA_SYNC_MEMOPS",
    "FI_EFA_USE_DEVICE_RDMA",
    "FI_EFA_USE_HUGE_PAGE",
    "FI_HMEM_CUDA_USE_GDRCOPY",
    "FI_LOG_LEVEL",
    "FI_MR_CACHE_MAX_COUNT",
    "FI_MR_CACHE_MAX_SIZE",
    "FI_MR_CACHE_MONITOR",
    "FI_PROVIDER",
    "FI_PROVIDER_PATH",
    "FI_SOCKETS_IFACE",
    "FI_TCP_IFACE",
    "FI_UNIVERSE_SIZE",
    "FI_VERBS_IFACE",
    "GLOO_SOCKET_IFNAME",
    "I_MPI_FABRICS",
    "I_MPI_FABRICS_LIST",
    "I_MPI_HYDRA_BOOTSTRAP",
    "I_MPI_HYDRA_IFACE",
    "I_MPI_OFI_LIBRARY_INTERNAL",
    "I_MPI_OFI_PROVIDER",
    "I_MPI_PMI_LIBRARY",
    "MASTER_ADDR",
    "MASTER_PORT",
    "MPICH_GPU_SUPPORT_ENABLED",
    "MPICH_OFI_NIC_MAPPING",
    "MPICH_OFI_NIC_POLICY",
    "MPICH_OFI_NIC_VERBOSE",
    "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME",
    "NVSHMEM_ENABLE_NIC_PE_MAPPING",
    "NVSHMEM_HCA_LIST",
    "NVSHMEM_HCA_PE_MAPPING",
    "NVSHMEM_IB_ENABLE_IBGDA",
    "NVSHMEM_IB_GID_INDEX",
    "NVSHMEM_IB_TRAFFIC_CLASS",
    "NVSHMEM_REMOTE_TRANSPORT",
    "OFI_NCCL_DISABLE_DMABUF",
    "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK",
    "OFI_NCCL_EAGER_MAX_SIZE",
    "OFI_NCCL_EXCLUDE_TCP_IF",
    "OFI_NCCL_FORCE_NUM_RAILS",
    "OFI_NCCL_GDR_FLUSH_DISABLE",
    "OFI_NCCL_MR_CACHE_DISABLE",
    "OFI_NCCL_NIC_DUP_CONNS",
    "OFI_NCCL_PROTOCOL",
    "OFI_NCCL_USE_IPV6_TCP",
    "OMPI_MCA_btl_openib_allow_ib",
    "OMPI_MCA_btl_openib_if_exclude",
    "OMPI_MCA_btl_openib_if_include",
    "OMPI_MCA_btl_tcp_if_exclude",
    "OMPI_MCA_btl_tcp_if_include",
    "OMPI_MCA_btl_vader_single_copy_mechanism",
    "OMPI_MCA_coll_hcoll_enable",
    "OMPI_MCA_coll_ucc_enable",
    "OMPI_MCA_oob_tcp_if_exclude",
    "OMPI_MCA_oob_tcp_if_include",
    "OMPI_MCA_opal_common_ucx_devices",
    "OMPI_MCA_opal_common_ucx_tls",
    "OMPI_MCA_pml_ucx_devices",
    "OMPI_MCA_pml_ucx_tls",
    "TORCH_FR_BUFFER_SIZE",
    "TORCH_FR_DEBUG_INFO_PIPE_FILE",
    "TORCH_FR_DUMP_TEMP_FILE",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_BLOCKING_WAIT",
    "TORCH_NCCL_DESYNC_DEBUG",
    "TORCH_NCCL_DUMP_ON_TIMEOUT",
    "TORCH_NCCL_ENABLE_MONITORING",
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
    "TORCH_NCCL_TRACE_BUFFER_SIZE",
    "TP_SOCKET_IFNAME",
    "UCC_CLS",
    "UCC_CL_BASIC_TLS",
    "UCC_TLS",
    "UCX_IB_ADDR_TYPE",
    "UCX_IB_GID_INDEX",
    "UCX_IB_GPU_DIRECT_RDMA",
    "UCX_IB_PCI_RELAXED_ORDERING",
    "UCX_IB_REG_METHODS",
    "UCX_IB_ROCE_REACHABILITY_MODE",
    "UCX_IB_TRAFFIC_CLASS",
    "UCX_MAX_EAGER_RAILS",
    "UCX_MAX_RNDV_RAILS",
    "UCX_MEMTYPE_CACHE",
    "UCX_NET_DEVICES",
    "UCX_PROTO_ENABLE",
    "UCX_RNDV_SCHEME",
    "UCX_RNDV_THRESH",
    "UCX_SHM_DEVICES",
    "UCX_SOCKADDR_TLS_PRIORITY",
    "UCX_TLS",
    "VLLM_HOST_IP",
};

// One letter more, less or other, or two that changed places.
bool one_slip_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() > a.size() + 1) return false;
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin());
  const auto at = static_cast<size_t>(differ.first - a.begin());
  if (a.size() < b.size()) return a.substr(at) == b.substr(at + 1);
  if (at == a.size()) return false;  // the same
  if (a.substr(at + 1) == b.substr(at + 1)) return true;
  return at + 1 < a.size() && a[at] == b[at + 1] && a[at + 1] == b[at] &&
         a.substr(at + 2) == b.substr(at + 2);
}

// "" if the name is known, or like none.
std::string meant_by(const std::string& name) {
  std::string out;
  for (const char* known : kNames) {
    if (name == known) return "";
    const bool near =
        to_lower(name) == to_lower(known) || one_slip_apart(name, known);
    if (near) out = known;
  }
  return out;
}

}  // namespace

void lint_spelling(FabricJob& job, const FabricPodState& pod) {
  for (const auto& [name, value] : pod.facts->environment) {
    if (name.starts_with("NCCL_")) continue;
    const std::string meant = meant_by(name);
    if (meant.empty() || pod.facts->environment.contains(meant)) continue;
    lint_warn(job, pod, "lint_unknown_name",
              name + " is not a variable that any library here reads",
              "did you mean " + meant + "?");
  }
}

}  // namespace muster
