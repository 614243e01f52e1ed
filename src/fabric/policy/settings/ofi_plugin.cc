// SPDX-License-Identifier: Apache-2.0
// The oldest libfabric with which a release of aws-ofi-nccl works on EFA. With
// an older one the plugin ends with an error, or finds no network. Sources:
// aws-ofi-nccl src/nccl_ofi_net.c ("EFA provider requires at least libfabric
// version 1.22.0" since 1.13, 1.18.0 since 1.10) and aws/aws-ofi-nccl#241 (1.7
// to 1.9, which ask at build time what 1.17 does not know). Pure.
#include <array>

#include "base/text.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

struct Need {
  NcclVersion plugin;     // since this release
  NcclVersion libfabric;  // at least
  const char* how;
};

constexpr std::array kNeeds = {
    Need{{1, 13, 0}, {1, 22, 0}, " needs libfabric "},
    Need{{1, 10, 0}, {1, 18, 0}, " needs libfabric "},
    Need{{1, 7, 0}, {1, 18, 0}, " is built for libfabric "}};

void check(FabricJob& job, const FabricPodState& pod) {
  const auto ofi = find_ofi_plugin(*pod.facts);
  if (!ofi) return;
  const auto plugin = parse_nccl_version(ofi->plugin->version);
  const auto libfabric = parse_nccl_version(pod.facts->libfabric.version);
  if (!plugin || !libfabric) return;
  for (const Need& need : kNeeds) {
    if (*plugin < need.plugin) continue;
    if (*libfabric >= need.libfabric) return;
    const std::string wanted = std::to_string(need.libfabric.major) + "." +
                               std::to_string(need.libfabric.minor);
    report(job, &pod,
           {Severity::kWarning, "libfabric_too_old",
            "aws-ofi-nccl " + ofi->plugin->version + need.how + wanted +
                " on EFA, and libfabric here is " +
                pod.facts->libfabric.version + ": NCCL stops, or goes over TCP",
            "aws/aws-ofi-nccl#241; its src/nccl_ofi_net.c",
            "put libfabric " + wanted +
                " or later (the EFA installer's) into the image, or the "
                "node's into LD_LIBRARY_PATH"});
    return;
  }
}

// Before 1.18 libfabric uses RDMA read only on request, and p4d is the first
// machine whose EFA has it (sagemaker-training-toolkit#121; the EFA cheatsheet
// of awsome-distributed-training).
void set_read(FabricJob& job, FabricPodState& pod) {
  const auto libfabric = parse_nccl_version(pod.facts->libfabric.version);
  const std::string shape = to_lower(
      pod.facts->shape.empty() ? pod.facts->product : pod.facts->shape);
  const auto ofi = find_ofi_plugin(*pod.facts);
  const auto plugin =
      ofi ? parse_nccl_version(ofi->plugin->version) : std::nullopt;
  if (plugin && *plugin >= NcclVersion{1, 7, 0}) return;  // asks for it itself
  if (!libfabric || *libfabric >= NcclVersion{1, 18, 0} ||
      !(shape.starts_with("p4d.") || shape.starts_with("p4de."))) {
    return;
  }
  FabricSetting setting{"libfabric",
                        "FI_EFA_USE_DEVICE_RDMA",
                        "1",
                        "libfabric before 1.18 uses EFA's RDMA read only where "
                        "it is told to",
                        shape + ", libfabric " + libfabric->text(),
                        FabricConfidence::kLikely,
                        "aws/sagemaker-training-toolkit#121"};
  setting.alone = "0: data of GPUs goes through host memory";
  setting.rejected = {"unset: see reason"};
  propose(job, pod, setting);
}

}  // namespace

void check_ofi_plugin(FabricJob& job) {
  if (job.transport != FabricTransport::kEfa || job.profile == Profile::kRl) {
    return;
  }
  for (FabricPodState& pod : job.pods) {
    if (pod.mpi_only()) continue;
    check(job, pod);
    set_read(job, pod);
  }
}

}  // namespace muster
