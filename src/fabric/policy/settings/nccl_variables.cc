// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/settings/nccl_variables.h"

#include <algorithm>
#include <iterator>

namespace muster {

namespace {

constexpr NcclVersion kOld{2, 0, 0};
constexpr bool kDebug = true;

constexpr NcclVariable kVariables[] = {
    {"NCCL_AGG_CHANNEL_SIZE", {2, 10, 0}, 0, -1, false, {2, 20, 0}},
    {"NCCL_ALGO", kOld, 0, -1, kDebug},
    {"NCCL_ALLGATHERV_ENABLE", {2, 29, 0}},
    {"NCCL_ALLOC_P2P_NET_LL_BUFFERS", {2, 14, 0}, 0, 1},
    {"NCCL_BUFFSIZE", kOld, -2, INT64_MAX, kDebug},
    {"NCCL_CGA_CLUSTER_SIZE", {2, 15, 0}, 0, 8},
    {"NCCL_CHECKS_DISABLE",
     kOld,
     0,
     1,
     kDebug,
     {2, 3, 0},
     "NCCL_CHECK_POINTERS"},
    {"NCCL_CHECK_POINTERS", kOld, 0, 1, kDebug},
    {"NCCL_CHUNK_SIZE", {2, 12, 0}},
    {"NCCL_COLLNET_ENABLE", kOld, 0, 1},
    {"NCCL_COLLNET_NODE_THRESHOLD", {2, 9, 9}},
    {"NCCL_COMM_BLOCKING", {2, 14, 0}, 0, 1, kDebug},
    {"NCCL_COMM_ID", kOld},
    {"NCCL_COMM_SHRINK_SHARE_RESOURCES", {2, 27, 0}},
    {"NCCL_COMM_SPLIT_SHARE_RESOURCES", {2, 18, 0}, 0, 1, kDebug},
    {"NCCL_CONF_FILE", {2, 23, 0}},
    {"NCCL_CONNECT_ROUND_MAX_PEERS", {2, 19, 4}},
    {"NCCL_CREATE_THREAD_CONTEXT", {2, 13, 0}},
    {"NCCL_CROSS_NIC", kOld, 0, 2},
    {"NCCL_CTA_POLICY", {2, 27, 0}, 0, 3},
    {"NCCL_CUMEM_ENABLE", {2, 18, 0}, -2, 1, kDebug},
    {"NCCL_CUMEM_HOST_ENABLE", {2, 23, 0}, -1, 1, kDebug},
    {"NCCL_DEBUG", kOld},
    {"NCCL_DEBUG_FILE", kOld},
    {"NCCL_DEBUG_SUBSYS", kOld},
    {"NCCL_DEBUG_TIMESTAMP_FORMAT", {2, 26, 0}},
    {"NCCL_DEBUG_TIMESTAMP_LEVELS", {2, 26, 0}},
    {"NCCL_DEV_API_JIT", {2, 30, 7}},
    {"NCCL_DISABLE_MEM_MANAGER", {2, 29, 7}},
    {"NCCL_DMABUF_ENABLE", {2, 13, 0}, 0, 1, kDebug},
    {"NCCL_ELASTIC_BUFFER_REGISTER", {2, 30, 0}},
    {"NCCL_ENABLE_VERSION_CHECK", {2, 29, 0}},
    {"NCCL_ENV_PLUGIN", {2, 28, 7}},
    {"NCCL_GDAKI_USE_RELIABLE_DB", {2, 29, 7}},
    {"NCCL_GDRCOPY_ENABLE", {2, 9, 0}, 0, 1},
    {"NCCL_GDRCOPY_FIFO_ENABLE", {2, 9, 0}},
    {"NCCL_GDRCOPY_FLUSH_ENABLE", {2, 9, 0}},
    {"NCCL_GDRCOPY_SYNC_ENABLE", {2, 12, 0}},
    {"NCCL_GDRCOPY_TAIL_ENABLE", {2, 9, 0}, 0, -1, false, {2, 12, 0}},
    {"NCCL_GDR_FLUSH_DISABLE", kOld, 0, 1},
    {"NCCL_GIN_CONNECTION_RAIL", {2, 30, 7}},
    {"NCCL_GIN_COUNTER_POOL_SIZE", {2, 28, 7}},
    {"NCCL_GIN_ENABLE", {2, 28, 7}, 0, 1},
    {"NCCL_GIN_ERROR_QUERY_SEC", {2, 28, 7}},
    {"NCCL_GIN_GDAKI_MAX_DEST_RD_ATOMIC", {2, 30, 0}},
    {"NCCL_GIN_GDAKI_MAX_QP_RD_ATOMIC", {2, 30, 0}},
    {"NCCL_GIN_GDAKI_NIC_HANDLER", {2, 28, 7}},
    {"NCCL_GIN_GDAKI_QP_DEPTH", {2, 28, 7}},
    {"NCCL_GIN_IB_TC", {2, 30, 7}},
    {"NCCL_GIN_NCONNECTIONS", {2, 29, 7}},
    {"NCCL_GIN_NCONTEXTS", {2, 28, 7}},
    {"NCCL_GIN_PLUGIN", {2, 29, 7}},
    {"NCCL_GIN_PLUGIN_REF_COUNT", {2, 29, 7}},
    {"NCCL_GIN_PROXY_QUEUE_SIZE", {2, 28, 7}},
    {"NCCL_GIN_SIGNAL_POOL_SIZE", {2, 28, 7}},
    {"NCCL_GIN_TYPE", {2, 28, 7}},
    {"NCCL_GRAPH_DUMP_FILE", kOld},
    {"NCCL_GRAPH_DUMP_FILE_RANK", kOld},
    {"NCCL_GRAPH_FILE", kOld},
    {"NCCL_GRAPH_HELPER_DISABLE", {2, 11, 0}},
    {"NCCL_GRAPH_MIXING_SUPPORT", {2, 13, 0}, 0, 1},
    {"NCCL_GRAPH_REGISTER", {2, 11, 0}, 0, 1},
    {"NCCL_GRAPH_STREAM_ORDERING", {2, 30, 7}},
    {"NCCL_GROUP_CUDA_STREAM", kOld},
    {"NCCL_HOSTID", kOld},
    {"NCCL_IBEXT_DISABLE", kOld, 0, 1},
    {"NCCL_IBVERBS_LIB", {2, 30, 0}},
    {"NCCL_IB_ADAPTIVE_ROUTING", {2, 16, 0}, -2, 1},
    {"NCCL_IB_ADDR_FAMILY", {2, 21, 0}},
    {"NCCL_IB_ADDR_RANGE", {2, 21, 0}},
    {"NCCL_IB_AR_THRESHOLD", kOld, -2, INT64_MAX},
    {"NCCL_IB_CUDA_SUPPORT",
     kOld,
     0,
     -1,
     false,
     {2, 4, 0},
     "NCCL_NET_GDR_LEVEL"},
    {"NCCL_IB_DATA_DIRECT", {2, 27, 0}, 0, 1},
    {"NCCL_IB_DEVICE_PCI_ORDER", {2, 29, 7}, 0, 1},
    {"NCCL_IB_DISABLE", kOld, 0, 1, kDebug},
    {"NCCL_IB_ECE_ENABLE", {2, 23, 0}, 0, 1},
    {"NCCL_IB_FIFO_TC", {2, 22, 0}, -1, 255},
    {"NCCL_IB_GDR_LEVEL", kOld, 0, -1, false, {2, 4, 0}, "NCCL_NET_GDR_LEVEL"},
    {"NCCL_IB_GID_INDEX", kOld, -1, 65535},
    {"NCCL_IB_HCA", kOld},
    {"NCCL_IB_MERGE_NICS", {2, 20, 0}, 0, 1},
    {"NCCL_IB_MERGE_VFS", {2, 18, 0}, 0, 1},
    {"NCCL_IB_MQP_RETRY_ALL", {2, 24, 0}, 0, 1},
    {"NCCL_IB_MQP_RETRY_CNT", {2, 24, 0}, 0, INT64_MAX},
    {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", {2, 24, 0}},
    {"NCCL_IB_OOO_RQ", {2, 30, 0}, 0, 1},
    {"NCCL_IB_PCI_RELAXED_ORDERING", {2, 12, 0}, 0, 2},
    {"NCCL_IB_PKEY", {2, 8, 0}, 0, 65535},
    {"NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS", {2, 29, 7}},
    {"NCCL_IB_QPS_PER_CONNECTION", {2, 10, 0}, 1, 128},
    {"NCCL_IB_QUERY_PORT_SPEED", {2, 30, 7}, 0, 1},
    {"NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME", {2, 29, 7}},
    {"NCCL_IB_RESILIENCY_PORT_FAILOVER", {2, 29, 7}, 0, 1},
    {"NCCL_IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS", {2, 29, 7}},
    {"NCCL_IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY", {2, 29, 7}},
    {"NCCL_IB_RESILIENCY_PORT_RECOVERY", {2, 30, 0}},
    {"NCCL_IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT", {2, 30, 0}},
    {"NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL", {2, 30, 0}},
    {"NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE", {2, 30, 0}},
    {"NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE", {2, 30, 0}},
    {"NCCL_IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT", {2, 30, 0}},
    {"NCCL_IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX", {2, 30, 0}},
    {"NCCL_IB_RESILIENCY_PORT_RECOVERY_START_DELAY", {2, 30, 0}},
    {"NCCL_IB_RETRY_CNT", kOld, 0, 7},
    {"NCCL_IB_RETURN_ASYNC_EVENTS", {2, 23, 0}, 0, 1},
    {"NCCL_IB_ROCE_VERSION_NUM", {2, 21, 0}, 1, 2},
    {"NCCL_IB_ROUTABLE_FLID_GID_INDEX", {2, 22, 0}, 0, 65535},
    {"NCCL_IB_SL", kOld, -1, 15},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", {2, 18, 0}, 0, 1},
    {"NCCL_IB_SUBNET_AWARE_ROUTING", {2, 30, 7}, 0, 1},
    {"NCCL_IB_SUBNET_PREFIX_LEN", {2, 30, 7}, 0, 128},
    {"NCCL_IB_TC", kOld, -1, 255},
    {"NCCL_IB_TIMEOUT", kOld, 0, 31},
    {"NCCL_IB_USE_INLINE", {2, 8, 0}, 0, 1},
    {"NCCL_IB_WARN_RAIL_LOCAL", {2, 24, 0}, 0, 1},
    {"NCCL_IGNORE_COLLNET_MISMATCH", {2, 30, 0}},
    {"NCCL_IGNORE_CPU_AFFINITY", kOld, 0, 1},
    {"NCCL_IGNORE_DISABLED_P2P", {2, 12, 0}, 0, 2, kDebug},
    {"NCCL_IGNORE_NET_MISMATCH", {2, 30, 0}, 0, 1},
    {"NCCL_IPC_USE_ABSTRACT_SOCKET", {2, 29, 0}, 0, 1},
    {"NCCL_L1_SHARED_MEMORY_CARVEOUT", {2, 12, 10}, 0, 100},
    {"NCCL_LAUNCH_MODE", kOld},
    {"NCCL_LAUNCH_ORDER_IMPLICIT", {2, 26, 0}, 0, 1},
    {"NCCL_LAUNCH_RACE_FATAL", {2, 26, 0}, 0, 1},
    {"NCCL_LEGACY_CUDA_REGISTER", {2, 24, 0}},
    {"NCCL_LL128_BUFFSIZE", {2, 7, 0}, 1, INT64_MAX},
    {"NCCL_LL128_C2C", {2, 27, 0}},
    {"NCCL_LL128_NTHREADS", kOld},
    {"NCCL_LL_BUFFSIZE", {2, 7, 0}, 1, INT64_MAX},
    {"NCCL_LL_THRESHOLD", kOld, 0, -1, false, {2, 5, 0}, "NCCL_PROTO"},
    {"NCCL_LOCAL_REGISTER", {2, 19, 0}, 0, 2},
    {"NCCL_LSA_TEAM_SIZE", {2, 29, 7}},
    {"NCCL_MAX_CTAS", {2, 17, 0}, 1, kChannels},
    {"NCCL_MAX_NCHANNELS", kOld, 1, kChannels},
    {"NCCL_MAX_NRINGS", kOld, 1, kChannels},
    {"NCCL_MAX_P2P_NCHANNELS", {2, 7, 0}, 1, kChannels},
    {"NCCL_MEM_SYNC_DOMAIN", {2, 16, 0}},
    {"NCCL_MIN_CTAS", {2, 17, 0}, 1, kChannels},
    {"NCCL_MIN_NCHANNELS", kOld, 1, kChannels},
    {"NCCL_MIN_NRINGS", kOld, 1, kChannels},
    {"NCCL_MIN_P2P_NCHANNELS", {2, 7, 0}, 1, kChannels},
    {"NCCL_MLOPART_RDMA_ENABLE", {2, 30, 7}},
    {"NCCL_MNNVL", {2, 20, 0}, 0, -1, false, {2, 21, 0}, "NCCL_MNNVL_ENABLE"},
    {"NCCL_MNNVL_CLIQUE_ID", {2, 23, 0}},
    {"NCCL_MNNVL_CROSS_CLIQUE", {2, 30, 0}, 0, 1},
    {"NCCL_MNNVL_ENABLE", {2, 21, 0}, -2, 2},
    {"NCCL_MNNVL_RAIL_PER_HOST", {2, 28, 7}},
    {"NCCL_MNNVL_SCATTER_NETS_ENABLE", {2, 27, 5}},
    {"NCCL_MNNVL_UUID", {2, 25, 0}},
    {"NCCL_MULTI_RANK_GPU_ENABLE", {2, 30, 0}, 0, 1},
    {"NCCL_MULTI_SEGMENT_REGISTER", {2, 29, 0}},
    {"NCCL_NCHANNELS_PER_NET_PEER", {2, 12, 0}, 1, kChannels},
    {"NCCL_NET", {2, 10, 0}},
    {"NCCL_NETDEVS_POLICY", {2, 28, 0}},
    {"NCCL_NET_DISABLE_INTRA", {2, 12, 0}, 0, 1},
    {"NCCL_NET_FORCE_FLUSH", {2, 15, 0}, 0, 1},
    {"NCCL_NET_FORCE_MERGE", {2, 24, 0}},
    {"NCCL_NET_GDR_C2C", {2, 26, 0}, 0, 1},
    {"NCCL_NET_GDR_LEVEL", kOld},
    {"NCCL_NET_GDR_MLOPART", {2, 30, 7}},
    {"NCCL_NET_GDR_READ", kOld, -2, 1},
    {"NCCL_NET_MERGE_LEVEL", {2, 24, 0}},
    {"NCCL_NET_MERGE_POLICY", {2, 30, 7}},
    {"NCCL_NET_OPTIONAL_RECV_COMPLETION", {2, 24, 0}},
    {"NCCL_NET_OVERHEAD", {2, 18, 0}, -1, INT64_MAX},
    {"NCCL_NET_PLUGIN", {2, 11, 0}},
    {"NCCL_NET_PLUGIN_REF_COUNT", {2, 26, 0}},
    {"NCCL_NET_SHARED_BUFFERS", {2, 8, 0}, -2, 1},
    {"NCCL_NET_SHARED_COMMS", {2, 12, 0}, 0, 1},
    {"NCCL_NSOCKS_PERTHREAD", kOld, 1, 64},
    {"NCCL_NTHREADS", kOld, 1, 1024},
    {"NCCL_NUM_RMA_CTX", {2, 29, 0}},
    {"NCCL_NVB_DISABLE", {2, 9, 9}, 0, 1, kDebug},
    {"NCCL_NVB_PRECONNECT", {2, 9, 9}},
    {"NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE", {2, 27, 0}},
    {"NCCL_NVLSTREE_MAX_CHUNKSIZE", {2, 20, 0}, 1, INT64_MAX},
    {"NCCL_NVLS_CHUNKSIZE", {2, 21, 0}, 1, INT64_MAX},
    {"NCCL_NVLS_ENABLE", {2, 17, 0}, 0, 2, kDebug},
    {"NCCL_NVLS_NCHANNELS", {2, 17, 0}, 1, 64},
    {"NCCL_NVTX_DISABLE", {2, 28, 0}, 0, 1},
    {"NCCL_OOB_NET_ENABLE", {2, 23, 0}, 0, 1},
    {"NCCL_OOB_NET_IFNAME", {2, 23, 0}},
    {"NCCL_P2P_DIRECT_DISABLE", {2, 12, 12}, 0, 1, kDebug},
    {"NCCL_P2P_DISABLE", kOld, -2, 1, kDebug},
    {"NCCL_P2P_EPOCH_ENABLE", {2, 29, 0}},
    {"NCCL_P2P_LEVEL", kOld},
    {"NCCL_P2P_LL_THRESHOLD", {2, 14, 0}, 0, INT64_MAX},
    {"NCCL_P2P_MAX_PEERS", {2, 30, 0}},
    {"NCCL_P2P_NET_CHUNKSIZE", {2, 14, 0}, 1, INT64_MAX},
    {"NCCL_P2P_NVL_CHUNKSIZE", {2, 16, 0}, 1, INT64_MAX},
    {"NCCL_P2P_PCI_CHUNKSIZE", {2, 16, 0}, 1, INT64_MAX},
    {"NCCL_P2P_PER_CHANNEL_NET_BW", {2, 29, 0}},
    {"NCCL_P2P_PXN_LEVEL", {2, 12, 0}, 0, 2},
    {"NCCL_P2P_READ_ENABLE", {2, 7, 0}, -2, 1},
    {"NCCL_P2P_SCHEDULE_GROUP_SIZE", {2, 28, 7}},
    {"NCCL_P2P_USE_CUDA_MEMCPY", {2, 13, 0}, 0, 1},
    {"NCCL_PAT_ENABLE", {2, 23, 0}, 0, 2},
    {"NCCL_PROFILER_PLUGIN", {2, 23, 0}},
    {"NCCL_PROGRESS_APPENDOP_FREQ", {2, 16, 5}, 0, INT64_MAX},
    {"NCCL_PROTO", kOld, 0, -1, kDebug},
    {"NCCL_PROXY_APPEND_BATCH_SIZE", {2, 16, 0}},
    {"NCCL_PROXY_CPUSET", {2, 28, 0}},
    {"NCCL_PROXY_DUMP_SIGNAL", {2, 14, 0}},
    {"NCCL_PXN_C2C", {2, 27, 0}, 0, 1},
    {"NCCL_PXN_DISABLE", {2, 12, 0}, 0, 1, kDebug},
    {"NCCL_RAS_ADDR", {2, 24, 0}},
    {"NCCL_RAS_ENABLE", {2, 24, 0}, 0, 1},
    {"NCCL_RAS_TIMEOUT_FACTOR", {2, 24, 0}, 1, INT64_MAX},
    {"NCCL_REPORT_CONNECT_PROGRESS", {2, 19, 4}},
    {"NCCL_RINGS", kOld, 0, -1, false, {2, 5, 0}, "NCCL_GRAPH_FILE"},
    {"NCCL_RMA_DISABLE", {2, 30, 7}},
    {"NCCL_RMA_PLUGIN", {2, 30, 7}},
    {"NCCL_RMA_PLUGIN_REF_COUNT", {2, 30, 7}},
    {"NCCL_RMA_PROXY_DUMP_SIGNAL", {2, 29, 0}},
    {"NCCL_RMA_PROXY_QUEUE_SIZE", {2, 29, 0}},
    {"NCCL_RUNTIME_CONNECT", {2, 22, 0}, 0, 1},
    {"NCCL_SET_CPU_STACK_SIZE", {2, 28, 0}},
    {"NCCL_SET_STACK_SIZE", {2, 9, 0}, 0, 1},
    {"NCCL_SET_THREAD_NAME", {2, 12, 0}, 0, 1},
    {"NCCL_SHADOW_MEMPOOL_MAX_SIZE", {2, 30, 7}},
    {"NCCL_SHM_DISABLE", kOld, 0, 1, kDebug},
    {"NCCL_SHM_LOCALITY", {2, 13, 0}, 1, 2},
    {"NCCL_SHM_MEMCPY_MODE", {2, 13, 0}, 1, 3},
    {"NCCL_SHM_USE_CUDA_MEMCPY", {2, 13, 0}, 0, 1},
    {"NCCL_SINGLE_PROC_MEM_REG_ENABLE", {2, 28, 0}, 0, 1},
    {"NCCL_SINGLE_RING_THRESHOLD", kOld, 0, INT64_MAX, false, {2, 3, 0}},
    {"NCCL_SOCKET_FAMILY", kOld},
    {"NCCL_SOCKET_IFNAME", kOld},
    {"NCCL_SOCKET_INLINE", {2, 27, 0}},
    {"NCCL_SOCKET_MAGIC", {2, 30, 7}},
    {"NCCL_SOCKET_MIN_TASKSIZE", {2, 27, 0}},
    {"NCCL_SOCKET_NTHREADS", kOld, 1, 16},
    {"NCCL_SOCKET_POLL_TIMEOUT_MSEC", {2, 29, 0}},
    {"NCCL_SOCKET_RCVBUF", {2, 27, 0}},
    {"NCCL_SOCKET_RETRY_CNT", {2, 24, 0}, 0, INT64_MAX},
    {"NCCL_SOCKET_RETRY_SLEEP_MSEC", {2, 24, 0}, 0, INT64_MAX},
    {"NCCL_SOCKET_SNDBUF", {2, 27, 0}},
    {"NCCL_SYM_CE_THRESHOLD", {2, 29, 0}},
    {"NCCL_SYM_CTAS", {2, 27, 0}},
    {"NCCL_SYM_GIN_KERNELS_ENABLE", {2, 29, 7}},
    {"NCCL_SYM_KERNEL", {2, 27, 0}},
    {"NCCL_SYM_NOWIN_ENABLE", {2, 29, 0}},
    {"NCCL_SYM_REUSE_SYSMEM_HANDLES", {2, 30, 4}},
    {"NCCL_SYM_RS_GIN_CHUNK_SIZE", {2, 30, 7}},
    {"NCCL_SYM_TMA_ENABLE", {2, 30, 0}},
    {"NCCL_THREAD_THRESHOLD",
     kOld,
     0,
     -1,
     false,
     {2, 5, 0},
     "NCCL_THREAD_THRESHOLDS"},
    {"NCCL_THREAD_THRESHOLDS", kOld},
    {"NCCL_TOPO_DUMP_FILE", kOld},
    {"NCCL_TOPO_DUMP_FILE_RANK", kOld},
    {"NCCL_TOPO_FILE", kOld},
    {"NCCL_TOPO_SPLIT_MLOPART", {2, 30, 7}},
    {"NCCL_TREE_THRESHOLD", kOld, 0, INT64_MAX, false, {2, 5, 0}, "NCCL_ALGO"},
    {"NCCL_TUNER_CONFIG_PATH", kOld},
    {"NCCL_TUNER_PLUGIN", {2, 19, 0}},
    {"NCCL_UID_STAGGER_RATE", {2, 23, 0}},
    {"NCCL_UID_STAGGER_THRESHOLD", {2, 23, 0}},
    {"NCCL_UNPACK_DOUBLE_NCHANNELS", {2, 22, 0}},
    {"NCCL_WARN_ENABLE_DEBUG_INFO", {2, 19, 4}, 0, 1},
    {"NCCL_WIN_ENABLE", {2, 27, 0}, 0, 1},
    {"NCCL_WIN_STRIDE", {2, 27, 0}},
    {"NCCL_WORK_ARGS_BYTES", {2, 22, 0}, 0, INT64_MAX},
    {"NCCL_WORK_FIFO_BYTES", {2, 22, 0}, 0, INT64_MAX},
    {"NCCL_WORK_FIFO_DEPTH",
     {2, 13, 0},
     0,
     INT64_MAX,
     false,
     {2, 22, 0},
     "NCCL_WORK_FIFO_BYTES"},
};

// Where RCCL differs: names of its own, and some that NCCL dropped.
// Source: ROCm/rccl, src/graph.
constexpr NcclVariable kOfRccl[] = {
    {"NCCL_AGG_CHANNEL_SIZE", {2, 10, 0}},
    {"NCCL_BOOTSTRAP_BIDIR_ALLGATHER", {2, 27, 0}},
    {"NCCL_CHECK_MODE", {2, 27, 0}},
    {"NCCL_LIBIBVERBS_SO", {2, 27, 0}},
    {"NCCL_NCHANNELS_PER_NET_PEER", {2, 12, 0}, -1, kChannels},
    {"NCCL_NCHANNELS_PER_PEER", kOld},
    {"NCCL_PROXY_PROFILE", kOld},
    {"NCCL_RINGS", kOld},
    {"NCCL_RINGS_REMAP", kOld},
};

constexpr const char* kOthers[] = {"NCCL_ASYNC_ERROR_HANDLING",
                                   "NCCL_BLOCKING_WAIT",
                                   "NCCL_DESYNC_DEBUG",
                                   "NCCL_DYNAMIC_CHUNK_SIZE",  // of Google
                                   "NCCL_ENABLE_TIMING",
                                   "NCCL_TRACE_BUFFER_SIZE",
                                   "NCCL_TIMEOUT",
                                   "NCCL_VERSION",
                                   "NCCL_HOME",
                                   "NCCL_ROOT",
                                   "NCCL_PATH",
                                   "NCCL_DIR",
                                   "NCCL_PREFIX",
                                   "NCCL_LIB",
                                   "NCCL_LIBRARY",
                                   "NCCL_INCLUDE",
                                   "NCCL_CFLAGS",
                                   "NCCL_SO_PATH",
                                   "NCCL_PLUGIN_P2P",
                                   "NCCL_TESTS",
                                   "NCCL_TEST"};

// With what follows them.
constexpr const char* kOthersPrefixes[] = {
    "NCCL_FASTRAK_", "NCCL_GPUDIRECTTCPX_", "NCCL_SHIMNET_", "NCCL_GIB_",
    "NCCL_UCX_",     "NCCL_SHARP_",         "NCCL_IBEXT_",   "NCCL_SPCX_",
    "NCCL_TESTS_",   "NCCL_INSPECTOR_",     "NCCL_PROFILE",  "NCCL_INCLUDE_",
    "NCCL_LIB_",     "NCCL_VERSION_",       "NCCL_ROOT_",    "NCCL_TELEMETRY_",
    "NCCL_TUNER_",   "NCCL_CONFIG_",        "NCCL_RCCL_",    "NCCL_FASTSOCKET_",
    "NCCL_DEP_"};

}  // namespace

bool is_others_variable(std::string_view name) {
  return std::any_of(std::begin(kOthers), std::end(kOthers),
                     [&](const char* other) { return name == other; }) ||
         (find_nccl_variable(name) == nullptr &&  // NCCL_TUNER_PLUGIN
          std::any_of(
              std::begin(kOthersPrefixes), std::end(kOthersPrefixes),
              [&](const char* prefix) { return name.starts_with(prefix); }));
}

int64_t max_channels(const NcclVersion& version, bool rccl) {
  if (!rccl) return version < NcclVersion{2, 25, 0} ? 32 : 64;
  if (version < NcclVersion{2, 18, 6}) return 32;
  if (version < NcclVersion{2, 20, 5}) return 64;
  // Since 2.28.3 the number is a choice of the build (WarpSpeed).
  return version < NcclVersion{2, 28, 3} ? 128 : 512;
}

const NcclVariable* find_nccl_variable(std::string_view name, bool rccl) {
  for (const NcclVariable& variable : kOfRccl) {
    if (rccl && name == variable.name) return &variable;
  }
  for (const NcclVariable& variable : kVariables) {
    if (name == variable.name) return &variable;
  }
  return nullptr;
}

std::string nccl_name_meant(std::string_view name) {
  const size_t end = name.find('_');
  if (end == name.npos || end < 3 || end > 5) return "";
  const auto prefix = name.substr(0, end);
  if (prefix == "NCCL" || prefix.find_first_not_of("NCLncl") != prefix.npos) {
    return "";
  }
  const std::string meant = "NCCL" + std::string(name.substr(end));
  return find_nccl_variable(meant) != nullptr ? meant : "";
}

std::string nccl_list_meant(std::string_view name) {
  for (const std::string_view word : {"_EXCLUDE", "_EXCLUDED", "_INCLUDE"}) {
    const size_t at = name.find(word);
    if (at == name.npos) continue;
    const auto rest = name.substr(at + word.size());
    if (!rest.empty() && rest.front() != '_') continue;
    const std::string meant = std::string(name.substr(0, at)).append(rest);
    if (find_nccl_variable(meant) != nullptr) return meant;
  }
  return "";
}

std::vector<std::string> nccl_variable_names() {
  std::vector<std::string> names;
  for (const NcclVariable& variable : kVariables) {
    names.emplace_back(variable.name);
  }
  return names;
}

}  // namespace muster
