// SPDX-License-Identifier: Apache-2.0
// The user's variables for libfabric, which NCCL's plugin and MPI use. Sources:
// libfabric's fi_efa(7), fi_psm3(7), fi_shm(7) and src/fabric.c; the EC2 guide;
// Intel MPI reference. Pure.
#include <algorithm>
#include <set>

#include "fabric/lint/lint.h"
#include "fabric/policy/network/libfabric.h"
#include "fabric/policy/user_text.h"

namespace muster {

namespace {

// A provider that the image's libfabric does not have, or not for the present
// adapters.
void lint_providers(FabricJob& job, const FabricPodState& pod) {
  for (const char* name : kProviderVariables) {
    const std::string value = value_of(pod, name);
    if (!no(has_named_provider(*pod.facts, value))) continue;
    lint_warn(job, pod, "lint_fi_provider",
              name + ("=" + value) + ": libfabric here has no such provider, " +
                  provider_names(*pod.facts) + ", and finds no network",
              "remove it, or use an image whose libfabric has it");
  }
}

// Intel's providers for Omni-Path, and psm3 for whatever has verbs: it says
// that it is there on any Ethernet, and then opens no adapter
// (easybuilders/easybuild-easyconfigs#18925).
bool has_adapter_for(const FabricPodState& pod, std::string_view provider) {
  const bool omni_path = provider == "psm2" || provider == "opx";
  if (!omni_path && provider != "psm3") return true;
  return std::any_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
    if (omni_path) {
      return view.hca->driver == "hfi1" || view.hca->name.starts_with("hfi1");
    }
    return view.kind != LinkKind::kEfa && view.kind != LinkKind::kSlingshot;
  });
}

void lint_provider_hardware(FabricJob& job, const FabricPodState& pod) {
  if (!pod.facts->hcas) return;
  for (const char* name : kProviderVariables) {
    const std::string value = to_lower(value_of(pod, name));
    const auto entries = entries_of(value);
    if (value.starts_with('^') || entries.size() != 1) continue;
    if (no(has_named_provider(*pod.facts, value))) continue;  // reported above
    if (has_adapter_for(pod, entries.front())) continue;
    lint_warn(job, pod, "lint_fi_provider",
              name + ("=" + value) +
                  " is for adapters that are not in the pod: it finds no "
                  "network, or hangs",
              "remove it, or name tcp");
  }
}

// Providers that share memory, and reach no other machine.
void lint_local_provider(FabricJob& job, const FabricPodState& pod) {
  if (job.pods.size() < 2) return;
  for (const char* name : kProviderVariables) {
    const std::string value = to_lower(value_of(pod, name));
    const auto entries = entries_of(value);
    const bool local =
        !entries.empty() && !value.starts_with('^') &&
        std::all_of(entries.begin(), entries.end(), [](auto& entry) {
          return entry == "shm" || entry == "sm2";
        });
    if (!local || no(has_named_provider(*pod.facts, value))) continue;
    lint_warn(job, pod, "lint_fi_provider",
              name + ("=" + value) +
                  " is memory that processes of one machine share: libfabric "
                  "reaches no other pod",
              "remove it, or name the network's provider, such as tcp");
  }
}

// PSM's own list: without the adapter in it, it stays in one machine.
void lint_psm_devices(FabricJob& job, const FabricPodState& pod) {
  if (job.pods.size() < 2) return;
  for (const auto& [name, own] :
       {std::pair{"PSM2_DEVICES", "hfi"}, std::pair{"PSM3_DEVICES", "nic"}}) {
    const std::string_view adapter = own;
    const auto entries = entries_of(to_lower(value_of(pod, name)));
    const bool there =
        std::any_of(entries.begin(), entries.end(), [&](auto& entry) {
          return entry.starts_with(adapter) || entry.starts_with("hfi");
        });
    if (entries.empty() || there) continue;
    lint_warn(job, pod, "lint_psm_devices",
              name + ("=" + value_of(pod, name)) +
                  " leaves out the adapter: PSM reaches processes of this pod "
                  "only",
              "remove it, or add " + std::string(adapter));
  }
}

// "g5" of g5.8xlarge.
std::string family_of(const PodFabric& pod) {
  const std::string shape =
      to_lower(pod.shape.empty() ? pod.product : pod.shape);
  return shape.substr(0, shape.find('.'));
}

// Machines with EFA whose adapters have no RDMA read: those of Nitro 3, except
// p4d and its kin (EC2 guide, EFA, supported instance types).
bool efa_without_read(const PodFabric& pod) {
  static const std::set<std::string> kFamilies = {
      "g5",  "g4dn", "p3dn", "c5n", "i3en", "inf1",
      "m5n", "m5dn", "m5zn", "r5n", "r5dn"};
  return kFamilies.contains(family_of(pod));
}

// libfabric calls abort() if the value asks for a feature that the adapter
// lacks, since 1.17; older ones ignore it (commit 591e9dff of libfabric).
constexpr NcclVersion kEndsWithoutRead{1, 17, 0};

void ask_for_read(FabricJob& job, const FabricPodState& pod,
                  const std::string& value) {
  if (!efa_without_read(*pod.facts)) return;
  const auto version = parse_nccl_version(pod.facts->libfabric.version);
  const bool old = version && *version < kEndsWithoutRead;
  report(job, &pod,
         {old ? Severity::kWarning : Severity::kError, "lint_efa_rdma",
          "FI_EFA_USE_DEVICE_RDMA=" + value + ": EFA of " +
              family_of(*pod.facts) + " has no RDMA read, and libfabric " +
              (old ? "since 1.17 " : "") + "ends each process that asks for it",
          "", "remove it: libfabric asks the adapter"});
}

void lint_efa_read(FabricJob& job, const FabricPodState& pod) {
  if (job.transport != FabricTransport::kEfa) return;
  const std::string value = to_lower(value_of(pod, "FI_EFA_USE_DEVICE_RDMA"));
  if (value == "1" || value == "true" || value == "yes" || value == "on") {
    return ask_for_read(job, pod, value);
  }
  const bool off =
      value == "0" || value == "false" || value == "no" || value == "off";
  if (!off || efa_without_read(*pod.facts)) return;
  lint_warn(job, pod, "lint_efa_rdma",
            "FI_EFA_USE_DEVICE_RDMA=" + value + " switches RDMA of EFA off: " +
                (no_gpus(*pod.facts) ? "long messages are copied"
                                     : "data of GPUs goes through host memory"),
            "remove it");
}

// Intel MPI on InfiniBand: its own mlx is UCX; verbs is slower and fails
// (Microsoft's guide of HB and HC machines).
void lint_intel_verbs(FabricJob& job, const FabricPodState& pod) {
  if (pod.facts->mpi.family != "intel" || !pod.facts->libfabric.providers ||
      job.transport != FabricTransport::kInfiniBand ||
      !yes(has_named_provider(*pod.facts, "mlx"))) {
    return;
  }
  for (const char* name : {"I_MPI_OFI_PROVIDER", "FI_PROVIDER"}) {
    const std::string value = value_of(pod, name);
    if (value.empty()) continue;
    if (!value.starts_with("verbs")) return;
    return lint_warn(job, pod, "lint_fi_provider",
                     name + ("=" + value) +
                         " keeps Intel MPI from mlx, which is the provider for "
                         "InfiniBand: verbs is slower, and unstable",
                     name + std::string("=mlx, or remove it"));
  }
}

// The plugin's provider, and libfabric's for MPI.
void lint_needed_provider(FabricJob& job, const FabricPodState& pod) {
  const std::string users = value_of(pod, "FI_PROVIDER");
  const std::string value = to_lower(users);
  const char* needed = job.transport == FabricTransport::kEfa         ? "efa"
                       : job.transport == FabricTransport::kSlingshot ? "cxi"
                                                                      : nullptr;
  if (needed == nullptr) return;
  const bool excluded =
      value.starts_with('^') == (value.find(needed) != std::string::npos);
  if (!value.empty() && excluded) {
    lint_warn(job, pod, "lint_fi_provider",
              "FI_PROVIDER=" + users + " keeps libfabric from " + needed +
                  (pod.mpi_only()
                       ? ": MPI goes over TCP"
                       : ": the plugin finds no network and NCCL uses TCP"),
              "remove it: the provider is found without it");
  }
  lint_efa_read(job, pod);
  for (const auto& [name, setting] : pod.facts->environment) {
    const bool fork = name.starts_with("RDMAV_") || name == "IBV_FORK_SAFE";
    if (job.transport != FabricTransport::kEfa || !fork) continue;
    // NCCL registers memory once, which is the part that becomes slow; MPI
    // often.
    report(
        job, &pod,
        {pod.mpi_only() ? Severity::kWarning : Severity::kInfo, "lint_rdmav",
         name + " harms EFA", "ofiwg/libfabric#6332; aws/aws-ofi-nccl#36, #83",
         "remove it: FI_EFA_USE_HUGE_PAGE=0 is the setting for fork, and "
         "aws-ofi-nccl sets FI_EFA_FORK_SAFE itself"});
  }
}

}  // namespace

void lint_libfabric(FabricJob& job, FabricPodState& pod) {
  lint_providers(job, pod);
  lint_provider_hardware(job, pod);
  lint_local_provider(job, pod);
  lint_psm_devices(job, pod);
  lint_needed_provider(job, pod);
  lint_intel_verbs(job, pod);
}

}  // namespace muster
