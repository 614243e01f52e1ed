// SPDX-License-Identifier: Apache-2.0
// UCX, Open MPI, libfabric, MPICH and Intel MPI: kept off RDMA where the job
// cannot use it everywhere, kept on the chosen adapters where NCCL is, and
// otherwise left alone. Sources: Open MPI documentation (TCP, InfiniBand and
// RoCE), UCX FAQ, libfabric fi_tcp(7), Intel MPI reference. Pure.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "fabric/effective.h"
#include "fabric/job_state.h"

namespace muster {

namespace {

bool is_family(const FabricPodState& pod, std::string_view family) {
  return pod.facts->mpi.family == family;
}

bool old_open_mpi(const FabricPodState& pod) {
  const std::string& version = pod.facts->mpi.version;
  return !version.empty() && version[0] <= '4';
}

const char* shm_btl(const FabricPodState& pod) {
  return old_open_mpi(pod) ? "vader" : "sm";
}

// Adapters that an MPI library would find by itself in some pod.
bool mpi_sees_rdma(const FabricJob& job) {
  return std::any_of(job.pods.begin(), job.pods.end(), [](auto& pod) {
    return std::any_of(pod.ports.begin(), pod.ports.end(), [](auto& view) {
      return view.nccl_sees || view.usable;
    });
  });
}

// Interfaces that Open MPI would offer to its peers beside the right one.
bool has_decoys(const FabricPodState& pod) {
  if (!pod.facts->netdevs || pod.primary.name.empty()) return false;
  return std::any_of(
      pod.facts->netdevs->begin(), pod.facts->netdevs->end(), [&](auto& dev) {
        const NetdevClass kind = netdev_class(dev);
        return dev.name != pod.primary.name &&
               (kind == NetdevClass::kBridge || kind == NetdevClass::kUsable ||
                kind == NetdevClass::kLinkLocal);
      });
}

void set(FabricJob& job, FabricPodState& pod, const char* library,
         const char* name, std::string value, const std::string& reason,
         const char* source) {
  const bool tcp = job.mpi_on_tcp || job.transport == FabricTransport::kTcp;
  const std::string& evidence = value == pod.primary.name ? pod.primary.reason
                                : tcp                     ? pod.absent
                                                          : pod.list_reason;
  FabricSetting setting{library, name,     std::move(value),
                        reason,  evidence, FabricConfidence::kLikely,
                        source};
  setting.alone = "its own choice among all devices";
  propose(job, pod, setting);
}

void set_tcp_open_mpi(FabricJob& job, FabricPodState& pod,
                      const std::string& reason) {
  const char* source = "Open MPI documentation, TCP and mca parameters";
  set(job, pod, "Open MPI", "OMPI_MCA_pml", "ob1", reason, source);
  set(job, pod, "Open MPI", "OMPI_MCA_btl",
      std::string("tcp,self,") + shm_btl(pod), reason, source);
}

void set_tcp_ucx(FabricJob& job, FabricPodState& pod,
                 const std::string& reason) {
  const bool cuda = yes(pod.facts->ucx.cuda_aware);
  set(job, pod, "UCX", "UCX_TLS",
      cuda ? "tcp,self,sm,cuda_copy,cuda_ipc" : "tcp,self,sm", reason,
      "UCX FAQ, UCX_TLS");
  if (!pod.primary.name.empty()) {
    set(job, pod, "UCX", "UCX_NET_DEVICES", pod.primary.name, reason,
        "UCX FAQ, UCX_NET_DEVICES");
  }
}

void set_tcp_libfabric(FabricJob& job, FabricPodState& pod,
                       const std::string& reason) {
  set(job, pod, "libfabric", "FI_PROVIDER", "tcp", reason, "fi_tcp(7)");
  if (!pod.primary.name.empty()) {
    set(job, pod, "libfabric", "FI_TCP_IFACE", pod.primary.name, reason,
        "fi_tcp(7)");
  }
}

void set_tcp(FabricJob& job, FabricPodState& pod) {
  const bool anywhere =
      job.mpi_on_tcp ||
      std::any_of(job.pods.begin(), job.pods.end(),
                  [](auto& any) { return !any.offers.empty(); });
  const std::string reason =
      job.profile == Profile::kTcp ? "profile tcp"
      : anywhere ? "MPI would use adapters that not every pod has"
                 : "MPI would try adapters that do not work in these pods";
  if (is_family(pod, "openmpi") || pod.facts->mpi.family.empty()) {
    set_tcp_open_mpi(job, pod, reason);
    set_tcp_ucx(job, pod, reason);
  } else if (is_family(pod, "intel")) {
    set(job, pod, "Intel MPI", "I_MPI_OFI_PROVIDER", "tcp", reason,
        "Intel MPI reference, I_MPI_OFI_PROVIDER");
    set_tcp_libfabric(job, pod, reason);
  } else {
    set_tcp_ucx(job, pod, reason);
    set_tcp_libfabric(job, pod, reason);
  }
}

// UCX and libfabric try the addresses of all interfaces too, where the image
// has them.
void set_interface(FabricJob& job, FabricPodState& pod) {
  if (!has_decoys(pod)) return;
  const std::string& name = pod.primary.name;
  const std::string reason =
      " offers the addresses of all interfaces to its peers";
  const bool ours = is_family(pod, "openmpi") || pod.facts->mpi.family.empty();
  if (ours) {
    set(job, pod, "Open MPI", "OMPI_MCA_btl_tcp_if_include", name,
        "Open MPI" + reason, "Open MPI documentation, btl_tcp_if_include");
  }
  const bool mpich = is_family(pod, "mpich") || is_family(pod, "mvapich");
  if (mpich || !pod.facts->ucx.version.empty()) {
    set(job, pod, "UCX", "UCX_NET_DEVICES", name, "UCX" + reason,
        "openucx/ucx#9383; UCX FAQ, UCX_NET_DEVICES");
  }
  if (mpich || is_family(pod, "intel")) {
    set(job, pod, "libfabric", "FI_TCP_IFACE", name, "libfabric" + reason,
        "fi_tcp(7)");
  }
}

// What to write on an mpirun line that muster does not start.
void add_mpirun_args(FabricJob& job) {
  const FabricPodState& pod = job.pods.front();
  auto& args = job.mpirun_args;
  const std::string& name = pod.primary.name;
  if (is_family(pod, "intel")) {
    args = {"-genv", "I_MPI_OFI_PROVIDER", "tcp"};
    if (!name.empty()) args.insert(args.end(), {"-genv", "FI_TCP_IFACE", name});
  } else if (is_family(pod, "mpich") || is_family(pod, "mvapich")) {
    args = {"-genv", "FI_PROVIDER", "tcp", "-genv", "UCX_TLS", "tcp,self,sm"};
    if (!name.empty()) args.insert(args.end(), {"-iface", name});
  } else {
    args = {"--mca", "pml", "ob1",
            "--mca", "btl", std::string("tcp,self,") + shm_btl(pod)};
    if (!name.empty()) {
      args.insert(args.end(), {"--mca", "btl_tcp_if_include", name});
    }
  }
}

bool is_mellanox(const FabricHca& hca) {
  if (!hca.driver.empty()) return hca.driver.starts_with("mlx");
  constexpr std::array<std::string_view, 5> kOthers = {"bnxt", "ionic", "irdma",
                                                       "erdma", "qedr"};
  return std::none_of(
      kOthers.begin(), kOthers.end(),
      [&](std::string_view other) { return hca.name.starts_with(other); });
}

void set_rdma(FabricJob& job, FabricPodState& pod) {
  std::vector<std::string> devices;
  bool mellanox = true;
  for (const PortView& view : pod.ports) {
    if (!view.chosen) continue;
    devices.push_back(view.hca->name + ":" + std::to_string(view.port->number));
    mellanox = mellanox && is_mellanox(*view.hca);
  }
  if (!pod.list_reason.empty() && !devices.empty() &&
      !is_family(pod, "intel")) {
    constexpr std::string_view kNccl = "NCCL alone";
    const bool alone = pod.mpi_only() && pod.list_reason.starts_with(kNccl);
    set(job, pod, "UCX", "UCX_NET_DEVICES", join(devices, ","),
        alone ? "UCX alone" + pod.list_reason.substr(kNccl.size())
              : "the same adapters as NCCL: " + pod.list_reason,
        "UCX FAQ, UCX_NET_DEVICES");
  }
  if (mellanox || !is_family(pod, "openmpi")) return;
  if (job.profile == Profile::kRdma) {
    set(job, pod, "Open MPI", "OMPI_MCA_opal_common_ucx_devices", "any",
        "Open MPI prefers UCX for mlx adapters only, and these are others",
        "ompi opal/mca/common/ucx/common_ucx.c");
    return;
  }
  report(job, &pod,
         {Severity::kInfo, "mpi_over_tcp",
          "Open MPI uses UCX by itself for mlx adapters only: its own traffic "
          "goes over TCP here",
          "ompi opal/mca/common/ucx/common_ucx.c",
          "profile rdma, or --mca opal_common_ucx_devices any"});
}

void check_cuda_aware(FabricJob& job, const FabricPodState& pod) {
  const bool gpus = pod.facts->gpus && !pod.facts->gpus->empty();
  if (!gpus || !no(pod.facts->mpi.cuda_aware)) return;
  report(job, &pod,
         {Severity::kInfo, "mpi_not_cuda_aware",
          "the MPI library is not CUDA-aware: GPU buffers must not be passed "
          "to MPI calls",
          "asked from the library", "NCCL is not concerned"});
}

}  // namespace

void set_mpi(FabricJob& job) {
  const bool hide_rdma =
      job.mpi_on_tcp ||
      (job.transport == FabricTransport::kTcp && mpi_sees_rdma(job) &&
       !std::all_of(job.pods.begin(), job.pods.end(),
                    [](auto& pod) { return pod.tcp_by_user; }));
  const bool tcp = job.mpi_on_tcp || job.transport == FabricTransport::kTcp;
  for (FabricPodState& pod : job.pods) {
    check_cuda_aware(job, pod);
    if (hide_rdma) set_tcp(job, pod);
    if (tcp) set_interface(job, pod);
    if (job.uses_verbs() && !job.mpi_on_tcp) set_rdma(job, pod);
  }
  if (tcp) add_mpirun_args(job);
}

}  // namespace muster
