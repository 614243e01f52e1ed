// SPDX-License-Identifier: Apache-2.0
// The means of communication of a pod: adapters, ports, GIDs, interfaces, GPUs,
// limits and libraries. A plain value that the collector or a person writes
// (docs/facts-schema.md). Everything may be unknown: empty text, -1, or an
// empty optional. An empty list says "looked, none there"; an empty optional
// says "not looked".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

using Known = std::optional<bool>;

struct FabricGid {
  int index = -1;
  std::string gid;     // "fe80::…", "::ffff:10.1.2.3"; empty: unreadable
  std::string type;    // "v1", "v2", "ib"; empty: unknown
  std::string netdev;  // owner; empty: unknown or in another namespace
  Known readable;      // false: the kernel answers EINVAL in this namespace
  Known usable;        // an address handle could be made with it
};

struct FabricPort {
  int number = 1;
  std::string state;       // "ACTIVE", "DOWN", "INIT", "ARMED"
  std::string link_layer;  // "InfiniBand", "Ethernet", "Unspecified"
  double rate_gbps = -1;
  int mtu = -1;  // active MTU, bytes
  std::string netdev;
  std::string phys_state;
  std::vector<std::string> pkeys;
  std::optional<std::vector<FabricGid>> gids;
};

struct FabricHca {
  std::string name;    // "mlx5_0"
  std::string driver;  // "mlx5", "efa", "irdma", "bnxt_re", "erdma", "cxi", …
  std::string firmware;
  std::string pci;       // "0000:1a:00.0"
  std::string pci_path;  // "pci0000:15/0000:15:01.0/…/0000:1a:00.0"
  int numa = -1;
  std::string gpu_path;  // nearest GPU: "PIX", "PXB", "PHB", "SYS", …
  Known vf;
  Known bond;            // two ports joined by LAG
  Known iwarp;           // node type RNIC
  Known device;          // its /dev/infiniband/uverbsN is in the pod
  Known usable;          // every step of the verbs probe worked
  std::string fails_at;  // first failing step: open pd cq mr qp ah
  std::string error;     // "ENOMEM", "EACCES", …
  std::vector<FabricPort> ports;
};

struct FabricNetdev {
  std::string name;
  std::vector<std::string> addresses;  // with prefix length
  Known up;
  Known running;
  Known default_route;
  int mtu = -1;
  int64_t speed_mbps = -1;
  std::string driver;
  std::string kind;  // "bridge", "tunnel", "veth", "macvlan", "ipoib", …
  std::string pci;
};

struct FabricGpu {
  std::string name;    // "NVIDIA H100 80GB HBM3"
  std::string vendor;  // "nvidia", "amd", "intel"
  std::string pci;
  std::string pci_path;
  int numa = -1;
  int compute_capability = -1;  // 90 for sm_90
  int64_t memory_bytes = -1;
  int64_t memory_used_bytes = -1;
  int utilization = -1;     // percent, when it was asked
  int64_t ecc_errors = -1;  // uncorrected, since the driver was loaded
  std::vector<std::string> slowdown;  // "thermal", "power brake", "hardware"
  Known remap_pending;                // rows of memory wait for a reset
  Known remap_failed;
  Known mig;
  Known nvlink;
  Known gdr;                   // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
  Known dmabuf;                // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
  Known multicast;             // CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED: NVLS
  std::string fabric_state;    // of NVLink: "completed", "in progress", …
  int fabric_status = -1;      // 0: without error
  std::string fabric_cluster;  // the NVLink domain, 32 hexadecimal digits
  int fabric_clique = -1;
  std::map<std::string, std::string> nics;  // HCA -> "PIX"
};

struct FabricPlugin {
  std::string name;     // file name: "libnccl-net.so"
  std::string network;  // "AWS Libfabric", "IBext", "gIB", …; may be empty
  std::string version;
};

// A way of libfabric to present hardware: "efa", "verbs;ofi_rxm".
struct FabricProvider {
  std::string name;
  std::vector<std::string> domains;  // "rdmap0s6-rdm", "cxi0", "eth0"
};

struct FabricLibrary {
  std::string family;  // MPI only: openmpi mpich intel mvapich
  std::string version;
  Known cuda_aware;
  // libfabric, UCX transports; nullopt: not asked.
  std::optional<std::vector<FabricProvider>> providers;
};

struct PodFabric {
  std::string name;
  std::string node;    // Kubernetes node name
  std::string vendor;  // DMI sys_vendor
  std::string product;
  std::string asset_tag;
  std::string shape;  // the cloud's name of the machine, if known
  Known virtual_machine;
  Known host_network;
  std::string peer_address;  // the other pods reach this one by it

  std::string nccl_version;  // "2.21.5"
  std::optional<std::vector<FabricPlugin>> plugins;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> nccl_conf;       // /etc/nccl.conf
  std::map<std::string, std::string> nccl_user_conf;  // ~/.nccl.conf

  std::optional<std::vector<FabricHca>> hcas;
  std::optional<std::vector<FabricNetdev>> netdevs;
  std::optional<std::vector<FabricGpu>> gpus;
  std::optional<std::vector<std::string>> pci_hcas;  // seen on the PCI bus
  std::optional<std::vector<std::string>> modules;   // loaded, RDMA related
  Known uverbs;  // any /dev/infiniband/uverbs* in the pod

  std::string gpu_driver;      // "550.54.15"
  std::string cuda_version;    // the newest CUDA that the driver takes: "12.4"
  int64_t memlock_bytes = -2;  // hard limit; -1: unlimited; -2: unknown
  int64_t shm_bytes = -1;
  Known peermem;            // nvidia_peermem or nv_peer_mem is loaded
  Known memory_peers;       // /sys/kernel/mm/memory_peers is there
  Known dmabuf;             // adapter and GPU can exchange DMA-BUF
  Known gdr_verified;       // a GPUDirect write was made and read back
  std::string gdr_trouble;  // why it was not
  Known multicast;          // cuMulticast probe (NVLS)
  Known nvswitch;
  Known cumem_host;    // cuMem host allocation probe
  Known p2p_works;     // GPU to GPU copy gives the right bytes in time
  Known imex_channel;  // /dev/nvidia-caps-imex-channels/* in the pod
  Known acs;           // PCIe ACS redirects between GPU and adapter
  Known iommu;         // translation on
  Known cross_rail;    // adapters of different rails reach each other
  std::vector<std::string> dead_hcas;  // did not reach their peers
  // Topology files in the pod; nullopt: not looked.
  std::optional<std::vector<std::string>> files;
  // "NAME=ENTRY" of variables that name a missing file.
  std::vector<std::string> missing_files;

  FabricLibrary mpi;
  FabricLibrary ucx;
  FabricLibrary libfabric;
};

// "unknown" for an empty optional.
inline bool yes(const Known& value) { return value.value_or(false); }
inline bool no(const Known& value) { return !value.value_or(true); }
// Looked, and there are none.
inline bool no_gpus(const PodFabric& pod) {
  return pod.gpus && pod.gpus->empty();
}

}  // namespace muster
