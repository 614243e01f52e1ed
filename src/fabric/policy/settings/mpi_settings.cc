// SPDX-License-Identifier: Apache-2.0
// UCX, Open MPI, libfabric, MPICH and Intel MPI: keeps them off RDMA if the job
// cannot use it everywhere, and on the chosen adapters if NCCL is, and
// otherwise leaves them alone. Sources: Open MPI documentation (TCP, InfiniBand
// and RoCE), UCX FAQ, libfabric fi_tcp(7), Intel MPI reference. Pure.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/libfabric.h"
#include "fabric/policy/network/open_mpi.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/network/ucx.h"

namespace muster {

namespace {

bool is_family(const FabricPodState& pod, std::string_view family) {
  return pod.facts->mpi.family == family;
}

// Open MPI 5 knows vader as sm's old name, 3 and 4 refuse sm: without a version
// only one of them is right.
const char* shm_btl(const FabricPodState& pod) {
  const std::string& version = pod.facts->mpi.version;
  const auto major = parse_integer(version.substr(0, version.find('.')));
  return major && *major >= 5 ? "sm" : "vader";
}

// Adapters that an MPI library would find by itself in some pod.
bool mpi_sees_rdma(const FabricJob& job) {
  return std::any_of(job.pods.begin(), job.pods.end(), [](auto& pod) {
    return std::any_of(pod.ports.begin(), pod.ports.end(), [](auto& view) {
      return view.nccl_sees || view.usable;
    });
  });
}

// The interface for MPI's TCP.
const std::string& interface_of(const FabricPodState& pod) {
  return pod.mpi_interface.name;
}

// The one interface that the user gave NCCL in this pod, if it can be used.
std::optional<PrimaryInterface> users_interface(const FabricPodState& pod) {
  const auto users = effective(*pod.facts, "NCCL_SOCKET_IFNAME");
  if (!users) return std::nullopt;
  const auto named =
      nccl_interfaces(*pod.facts, pod.assumed_version(), users->value);
  if (named.size() != 1) return std::nullopt;
  const FabricNetdev* dev = find_netdev(*pod.facts, named.front());
  if (dev == nullptr || netdev_class(*dev) != NetdevClass::kUsable) {
    return std::nullopt;
  }
  return PrimaryInterface{dev->name, "NCCL_SOCKET_IFNAME=" + users->value +
                                         " (" + users->origin + ")"};
}

// That of the pods' network; the user's for NCCL if every pod has one.
void choose_interfaces(FabricJob& job) {
  const bool all = std::all_of(job.pods.begin(), job.pods.end(), [](auto& pod) {
    return users_interface(pod).has_value();
  });
  for (FabricPodState& pod : job.pods) {
    pod.mpi_interface = all ? *users_interface(pod) : pod.primary;
  }
}

// Interfaces that Open MPI would offer to its peers beside the right one. It
// checks whether they are up, not whether a peer is at the other end: it offers
// docker0 without containers, too (open-mpi/ompi#6377).
bool has_decoys(const FabricPodState& pod) {
  if (!pod.facts->netdevs || interface_of(pod).empty()) return false;
  return std::any_of(
      pod.facts->netdevs->begin(), pod.facts->netdevs->end(), [&](auto& dev) {
        FabricNetdev carrier = dev;
        if (!no(dev.up)) carrier.running = std::nullopt;
        const NetdevClass kind = netdev_class(carrier);
        return dev.name != interface_of(pod) &&
               (kind == NetdevClass::kBridge || kind == NetdevClass::kUsable ||
                kind == NetdevClass::kLinkLocal);
      });
}

// The evidence that MPI cannot use adapters everywhere.
std::string seen_for_mpi(const FabricJob& job, const FabricPodState& pod) {
  if (job.transport == FabricTransport::kTcp) return seen_for_tcp(job, pod);
  if (job.uses_libfabric() && no(providers_agree(job))) {
    for (const PortView& view : pod.ports) {
      if (view.chosen && no(has_provider(*pod.facts, view))) {
        return without_provider(*pod.facts, view);
      }
    }
    return "another pod's libfabric has no provider for " +
           std::string(transport_name(job.transport));
  }
  return "pods without GPU and adapter are among them";
}

// The alternatives to a setting, each with the reason against it.
std::vector<std::string> others_than(std::string_view name) {
  const std::string open_end = " and the like: what is not named stays in";
  if (name == "OMPI_MCA_pml") {
    return {"ucx, cm: they look for adapters, in each process by itself"};
  }
  if (name == "OMPI_MCA_btl") return {"^openib" + open_end};
  if (name == "OMPI_MCA_btl_tcp_if_include") {
    return {"btl_tcp_if_exclude: must name all others, and lo once more"};
  }
  if (name == kHcollSwitch || name == "OMPI_MCA_coll_ucc_enable") {
    return {"unset: its collectives would go over the adapters"};
  }
  if (name == "OMPI_MCA_opal_common_ucx_devices") {
    return {"names: adapters have other names on other nodes"};
  }
  if (name == "UCX_TLS") return {"^ib" + open_end};
  if (name == "UCX_NET_DEVICES") {
    return {"all, its default: adapters and interfaces that peers lack, too"};
  }
  if (name == "MV2_IBA_HCA") {
    return {"UCX_NET_DEVICES: MVAPICH before 3 is without UCX"};
  }
  if (name == "FI_TCP_IFACE") {
    return {"unset: the provider offers every interface"};
  }
  return {"^verbs" + open_end};  // providers of libfabric
}

// The user names interfaces or networks that reach the other pods; any of
// several will do.
bool users_own_interfaces(const FabricPodState& pod, std::string_view name) {
  if (name != "OMPI_MCA_btl_tcp_if_include") return false;
  const auto users = effective(*pod.facts, std::string(name));
  if (!users) return false;
  const auto entries = split(users->value, ',');
  return std::none_of(entries.begin(), entries.end(), [&](auto entry) {
    const FabricNetdev* dev = find_netdev(*pod.facts, std::string(trim(entry)));
    return dev != nullptr && netdev_class(*dev) != NetdevClass::kUsable;
  });
}

void set(FabricJob& job, FabricPodState& pod, const char* library,
         const char* name, std::string value, const std::string& reason,
         const char* source) {
  const bool tcp = job.mpi_on_tcp || job.transport == FabricTransport::kTcp;
  const std::string evidence =
      value == interface_of(pod) ? pod.mpi_interface.reason
      : tcp                      ? seen_for_mpi(job, pod)
      : pod.list_reason.empty()  ? "the adapters' drivers"
                                 : pod.list_reason;
  FabricSetting setting{library, name,     std::move(value),
                        reason,  evidence, FabricConfidence::kLikely,
                        source};
  setting.alone = "its own choice among all devices";
  setting.rejected = others_than(name);
  setting.tuning = users_own_interfaces(pod, name);
  propose(job, pod, setting);
}

// The pod has HPC-X, which NCCL's plugin is a part of.
bool has_hcoll(const FabricPodState& pod) {
  return shows_hcoll(*pod.facts) ||
         find_plugin(*pod.facts, PluginKind::kIbExt).has_value();
}

void set_tcp_open_mpi(FabricJob& job, FabricPodState& pod,
                      const std::string& reason) {
  const char* source = "Open MPI documentation, TCP and mca parameters";
  set(job, pod, "Open MPI", "OMPI_MCA_pml", "ob1", reason, source);
  set(job, pod, "Open MPI", "OMPI_MCA_btl",
      std::string("tcp,self,") + shm_btl(pod), reason, source);
  if (!has_hcoll(pod)) return;
  set(job, pod, "Open MPI", kHcollSwitch, "0",
      reason + "; HCOLL asks neither pml nor btl", "open-mpi/ompi#7388");
  // Newer HPC-X has UCC in its place.
  set(job, pod, "Open MPI", "OMPI_MCA_coll_ucc_enable", "0",
      reason + "; UCC asks neither pml nor btl",
      "NVIDIA/cluster-readiness-engine#102");
}

void set_tcp_ucx(FabricJob& job, FabricPodState& pod,
                 const std::string& reason) {
  const bool cuda = yes(pod.facts->ucx.cuda_aware);
  set(job, pod, "UCX", "UCX_TLS",
      cuda ? "tcp,self,sm,cuda_copy,cuda_ipc" : "tcp,self,sm", reason,
      "UCX FAQ, UCX_TLS");
  if (!interface_of(pod).empty()) {
    set(job, pod, "UCX", "UCX_NET_DEVICES", interface_of(pod), reason,
        "UCX FAQ, UCX_NET_DEVICES");
  }
}

void set_tcp_libfabric(FabricJob& job, FabricPodState& pod,
                       const std::string& reason) {
  set(job, pod, "libfabric", "FI_PROVIDER", "tcp", reason, "fi_tcp(7)");
  if (!interface_of(pod).empty()) {
    set(job, pod, "libfabric", "FI_TCP_IFACE", interface_of(pod), reason,
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

bool has_bridge(const FabricPodState& pod) {
  return pod.facts->netdevs && !interface_of(pod).empty() &&
         std::any_of(pod.facts->netdevs->begin(), pod.facts->netdevs->end(),
                     [](auto& dev) {
                       return netdev_class(dev) == NetdevClass::kBridge;
                     });
}

void set_ucx_interface(FabricJob& job, FabricPodState& pod) {
  set(job, pod, "UCX", "UCX_NET_DEVICES", interface_of(pod),
      "UCX offers the addresses of all interfaces to its peers",
      "openucx/ucx#9383; UCX FAQ, UCX_NET_DEVICES");
}

// One release offers the address of lo to other machines (openucx/ucx#6695;
// notes of UCX 1.10.1).
bool offers_loopback(const FabricPodState& pod) {
  return parse_nccl_version(pod.facts->ucx.version) == NcclVersion{1, 10, 0} &&
         !interface_of(pod).empty();
}

// The user keeps it on TCP, with any adapters (openucx/ucx#9908).
void keep_ucx_off_bridges(FabricJob& job, FabricPodState& pod) {
  if (!ucx_on_tcp(*pod.facts)) return;
  if (has_bridge(pod) || offers_loopback(pod)) set_ucx_interface(job, pod);
}

// Names MPICH's libfabric provider; an MPICH that reads it has no UCX.
constexpr const char* kMpichProvider = "MPIR_CVAR_OFI_USE_PROVIDER";

// Whether the user's providers include it.
bool libfabric_may_use_tcp(const PodFabric& pod) {
  const auto leaves_it_in = [&](const char* name) {
    const auto users = effective(pod, name);
    return !users || users->value.empty() || users->value.starts_with('^') ||
           users->value.find("tcp") != std::string::npos;
  };
  return leaves_it_in("FI_PROVIDER") && leaves_it_in(kMpichProvider);
}

// With a list of exclusions, Open MPI would stop using TCP.
void set_open_mpi_interface(FabricJob& job, FabricPodState& pod) {
  const bool ours = is_family(pod, "openmpi") || pod.facts->mpi.family.empty();
  if (!ours || effective(*pod.facts, "OMPI_MCA_btl_tcp_if_exclude")) return;
  set(job, pod, "Open MPI", "OMPI_MCA_btl_tcp_if_include", interface_of(pod),
      "Open MPI offers the addresses of all interfaces to its peers",
      "Open MPI documentation, btl_tcp_if_include");
}

// UCX and libfabric try the addresses of all interfaces too, if the image has
// them.
void set_interface(FabricJob& job, FabricPodState& pod, bool ucx_too) {
  if (!has_decoys(pod)) return;
  const std::string& name = interface_of(pod);
  const std::string reason =
      " offers the addresses of all interfaces to its peers";
  set_open_mpi_interface(job, pod);
  const bool mpich = is_family(pod, "mpich") || is_family(pod, "mvapich");
  if (ucx_too && has_ucx(*pod.facts) &&
      !effective(*pod.facts, kMpichProvider)) {
    set_ucx_interface(job, pod);
  }
  // oneCCL is for Intel's GPUs, and has libfabric as Intel MPI has.
  const bool libfabric =
      mpich || is_family(pod, "intel") || has_intel_gpus(*pod.facts);
  if (libfabric && libfabric_may_use_tcp(*pod.facts)) {
    set(job, pod, "libfabric", "FI_TCP_IFACE", name, "libfabric" + reason,
        "fi_tcp(7)");
  }
}

// A line is the same for all pods. If their interfaces have other names, Open
// MPI takes networks; "" if one is unknown.
std::string line_interface(const FabricJob& job, bool networks) {
  std::set<std::string> names;
  std::set<std::string> places;
  for (const FabricPodState& pod : job.pods) {
    names.insert(interface_of(pod));
    const FabricNetdev* dev = find_netdev(*pod.facts, interface_of(pod));
    std::string place;
    for (const std::string& address :
         dev == nullptr ? std::vector<std::string>{} : dev->addresses) {
      if (place.empty()) place = network_of(address);
    }
    places.insert(place);
  }
  if (names.size() == 1) return *names.begin();
  if (!networks || places.contains("")) return "";
  return join({places.begin(), places.end()}, ",");
}

// The options for an mpirun line that muster does not start.
void add_mpirun_args(FabricJob& job) {
  const FabricPodState& pod = job.pods.front();
  auto& args = job.mpirun_args;
  const bool open_mpi =
      is_family(pod, "openmpi") || pod.facts->mpi.family.empty();
  const std::string name = line_interface(job, open_mpi);
  if (is_family(pod, "intel")) {
    args = {"-genv", "I_MPI_OFI_PROVIDER", "tcp"};
    if (!name.empty()) args.insert(args.end(), {"-genv", "FI_TCP_IFACE", name});
  } else if (is_family(pod, "mpich") || is_family(pod, "mvapich")) {
    args = {"-genv", "FI_PROVIDER", "tcp", "-genv", "UCX_TLS", "tcp,self,sm"};
    if (!name.empty()) args.insert(args.end(), {"-iface", name});
  } else {
    args = {"--mca", "pml", "ob1",
            "--mca", "btl", std::string("tcp,self,") + shm_btl(pod)};
    const bool excludes =
        effective(*pod.facts, "OMPI_MCA_btl_tcp_if_exclude").has_value();
    if (!name.empty() && !excludes) {
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

// MVAPICH came to UCX and libfabric with 3; before, it opens the adapters by
// itself, on InfiniBand without a setting.
bool is_mvapich2(const FabricPodState& pod) {
  return is_family(pod, "mvapich") && pod.facts->mpi.version.starts_with("2");
}

void set_mvapich2(FabricJob& job, FabricPodState& pod) {
  std::vector<std::string> names;
  for (const PortView& view : pod.ports) {
    if (view.chosen) names.push_back(view.hca->name);
  }
  const bool narrowed = !pod.list_reason.empty() && !names.empty();
  if (!narrowed || job.transport != FabricTransport::kInfiniBand) return;
  set(job, pod, "MVAPICH2", "MV2_IBA_HCA", join(names, ":"),
      "MVAPICH2 opens the first adapters of the machine, whatever their link "
      "layer",
      "MVAPICH2 user guide, MV2_IBA_HCA");
}

void set_rdma(FabricJob& job, FabricPodState& pod) {
  std::vector<std::string> devices;
  bool mellanox = true;
  for (const PortView& view : pod.ports) {
    if (!view.chosen) continue;
    devices.push_back(view.hca->name + ":" + std::to_string(view.port->number));
    mellanox = mellanox && is_mellanox(*view.hca);
  }
  if (is_mvapich2(pod)) {
    set_mvapich2(job, pod);
  } else if (ucx_on_tcp(*pod.facts)) {
    keep_ucx_off_bridges(job, pod);
  } else if (!pod.list_reason.empty() && !devices.empty() &&
             !is_family(pod, "intel")) {
    constexpr std::string_view kNccl = "NCCL alone";
    const bool alone = pod.mpi_only() && pod.list_reason.starts_with(kNccl);
    set(job, pod, "UCX", "UCX_NET_DEVICES", join(devices, ","),
        alone ? "UCX alone" + pod.list_reason.substr(kNccl.size())
              : "the same adapters as NCCL",
        "UCX FAQ, UCX_NET_DEVICES");
  }
  const bool own_provider =
      std::any_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
        return view.chosen && yes(has_provider(*pod.facts, view));
      });
  if (mellanox || own_provider || !is_family(pod, "openmpi")) return;
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
  choose_interfaces(job);
  for (const FabricPodState& pod : job.pods) check_cuda_aware(job, pod);
  if (const auto provider = provider_for_mpi(job); !provider.empty()) {
    // Every MPI over libfabric prefers it to tcp. An MPI built without it has
    // TCP, which needs only the interface.
    for (FabricPodState& pod : job.pods) set_interface(job, pod, false);
    report(job, nullptr,
           {Severity::kInfo, "mpi_by_libfabric",
            "NCCL goes over TCP, and MPI is left its fabric: libfabric has the "
            "provider " +
                provider + " in every pod",
            "fi_getinfo", "profile tcp takes MPI to TCP, too"});
    return;
  }
  const Known none_has_it = providers_agree(job);
  if (job.uses_libfabric() && no(none_has_it)) job.mpi_on_tcp = true;
  if (job.uses_libfabric() && yes(none_has_it)) {
    for (FabricPodState& pod : job.pods) set_interface(job, pod, false);
  }
  const bool hide_rdma =
      job.mpi_on_tcp ||
      (job.transport == FabricTransport::kTcp && mpi_sees_rdma(job) &&
       !std::all_of(job.pods.begin(), job.pods.end(),
                    [](auto& pod) { return pod.tcp_by_user; }));
  const bool tcp = job.mpi_on_tcp || job.transport == FabricTransport::kTcp;
  for (FabricPodState& pod : job.pods) {
    if (hide_rdma) set_tcp(job, pod);
    if (tcp) set_interface(job, pod, true);
    if (job.uses_verbs() && !job.mpi_on_tcp) set_rdma(job, pod);
    if (!tcp && has_bridge(pod) && open_mpi_on_tcp(job, *pod.facts)) {
      set_open_mpi_interface(job, pod);
    }
    if (job.transport == FabricTransport::kUnknown && job.pods.size() > 1) {
      keep_ucx_off_bridges(job, pod);
    }
  }
  if (tcp) add_mpirun_args(job);
}

}  // namespace muster
