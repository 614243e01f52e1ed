// SPDX-License-Identifier: Apache-2.0
// Profile rl: NCCL's InfiniBand and P2P off, as users of some RL stacks
// require. Says the cost and the narrower remedies: the RL frameworks that we
// read do not switch them off because of the algorithm. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

constexpr const char* kRlSource = "profile rl, chosen by the user";
constexpr const char* kNarrower =
    "try profile auto first, and the narrow remedy for what you see:\n"
    "\"Duplicate GPU\": put trainer and rollout on separate GPUs or move "
    "weights by CUDA IPC\n"
    "weight-sync init error: the same NCCL_CUMEM_ENABLE on both sides\n"
    "out of memory in rollout: NCCL_CUMEM_ENABLE=0 before NCCL 2.22.3\n"
    "hang with two communicators: NCCL_LAUNCH_ORDER_IMPLICIT=1 (2.26)\n"
    "NVLS bind error: NCCL_NVLS_ENABLE=0\n"
    "P2P hang: NCCL_P2P_LEVEL=PXB\n"
    "small /dev/shm: mount a larger one";

bool ignores_ib_disable(const FabricPodState& pod) {
  const auto plugin = loaded_plugin(*pod.facts);
  return plugin.has_value();
}

// NCCL_IB_DISABLE=0 of the user, or of the image, stays: with InfiniBand on in
// that pod and off in others, the processes would not meet.
bool keeps_ib_on(const FabricPodState& pod) {
  return effective(*pod.facts, "NCCL_IB_DISABLE") &&
         !switched_on(*pod.facts, "NCCL_IB_DISABLE");
}

double interface_gbps(const FabricPodState& pod) {
  const FabricNetdev* netdev = find_netdev(*pod.facts, pod.primary.name);
  if (netdev == nullptr || netdev->speed_mbps <= 0) return -1;
  return static_cast<double>(netdev->speed_mbps) / 1000;
}

std::string price(const FabricJob& job) {
  const FabricPodState& pod = job.pods.front();
  double rdma = 0;
  for (const PortView& view : pod.ports) {
    if (view.chosen && view.port->rate_gbps > 0) rdma += view.port->rate_gbps;
  }
  if (job.transport == FabricTransport::kTcp ||
      job.transport == FabricTransport::kUnknown) {
    return "GPUs of one pod exchange data through host memory instead of "
           "NVLink or PCIe";
  }
  std::string text = "all NCCL traffic between pods goes over TCP";
  const double tcp = interface_gbps(pod);
  if (rdma > 0 && tcp > 0) {
    text += ", at most " + gbps_text(tcp) + " instead of " + gbps_text(rdma);
  } else if (rdma > 0) {
    text += " while " + gbps_text(rdma) + " of " +
            std::string(transport_name(job.transport)) + " stay idle";
  }
  return text +
         ", and GPUs of one pod exchange data through host memory instead of "
         "NVLink or PCIe";
}

// NCCL stops if NCCL_NET names a network that is switched off.
void check_demand(FabricJob& job, const FabricPodState& pod) {
  const auto net = effective(*pod.facts, "NCCL_NET");
  if (!net || to_lower(trim(net->value)) != "ib" || keeps_ib_on(pod)) return;
  report(job, &pod,
         {Severity::kError, "rdma_demanded",
          "NCCL_NET=" + net->value + " (" + net->origin +
              ") demands InfiniBand or RoCE, which profile rl switches off: "
              "NCCL would stop with an error",
          "NCCL guide, NCCL_NET", "remove NCCL_NET, or the profile"});
}

std::string asked_for(const FabricJob& job) {
  return "profile " + profile_said(job) + " was asked for";
}

void set_rl(FabricJob& job) {
  const bool plugin_anywhere =
      std::any_of(job.pods.begin(), job.pods.end(), ignores_ib_disable) ||
      job.uses_libfabric() || job.transport == FabricTransport::kTcpx;
  const bool kept_anywhere =
      std::any_of(job.pods.begin(), job.pods.end(), keeps_ib_on);
  for (FabricPodState& pod : job.pods) {
    FabricSetting off{"NCCL",
                      "NCCL_IB_DISABLE",
                      "1",
                      "profile rl switches InfiniBand and RoCE off",
                      asked_for(job),
                      FabricConfidence::kProven,
                      kRlSource};
    off.asked = true;
    off.alone = std::string(transport_name(job.transport));
    off.rejected = {"unset: no RL framework that was read needs it off"};
    propose(job, pod, off);
    off.name = "NCCL_P2P_DISABLE";
    off.reason = "profile rl switches GPU peer-to-peer copies off";
    off.alone = "NVLink or PCIe peer to peer";
    off.rejected = {
        "NCCL_P2P_LEVEL=PXB: narrower, where far GPUs alone fail",
        "NCCL_SHM_DISABLE=1: data of one pod would go through the network"};
    propose(job, pod, off);
    check_demand(job, pod);
    if (!plugin_anywhere && !kept_anywhere) continue;
    off.name = "NCCL_NET";
    off.value = "Socket";
    off.reason = plugin_anywhere
                     ? "a network plugin ignores NCCL_IB_DISABLE, and all "
                       "processes need the same network"
                     : "the user's NCCL_IB_DISABLE=0 stays in some pod, and "
                       "all processes need the same network";
    off.alone = plugin_anywhere ? "the plugin" : "InfiniBand in some pods";
    off.rejected = {"NCCL_NET_PLUGIN=none: keeps InfiniBand where it is on"};
    propose(job, pod, off);
  }
  if (job.mpi_only()) {
    report(job, nullptr,
           {Severity::kInfo, "rl_no_gpus",
            "no pod shows a GPU or NCCL: what profile rl sets counts for an "
            "NCCL that the program brings, as in a Python wheel",
            "", "profile tcp keeps MPI off RDMA"});
    return;
  }
  report(job, nullptr,
         {Severity::kWarning, "rl_price",
          "profile " + profile_said(job) + ": " + price(job), "", kNarrower});
}

void report_mixed_profiles(FabricJob& job) {
  std::vector<std::string> names;
  bool mixed = false;
  for (const AppProfile& app : job.request.apps) {
    names.push_back(app.app + ": " + std::string(profile_name(app.profile)));
    mixed = mixed || app.profile != job.profile;
  }
  if (!mixed) return;
  report(job, nullptr,
         {Severity::kWarning, "profiles_equalised",
          "the applications of this job ask for different profiles; profile " +
              std::string(profile_name(job.profile)) +
              " is used for all, because both ends of an NCCL communicator "
              "need the same network, P2P, SHM, CUMEM and NVLS settings",
          join(names, ", "),
          "run applications that never share a communicator as two jobs"});
}

}  // namespace

std::string profile_said(const FabricJob& job) {
  const std::string name(profile_name(job.profile));
  if (job.request.profile == job.profile) {
    const std::string& word = job.request.profile_word;
    return word.empty() || word == name ? name : name + " (" + word + ")";
  }
  for (const AppProfile& app : job.request.apps) {
    if (app.profile == job.profile) return name + " of " + app.app;
  }
  return name;
}

void set_profile(FabricJob& job) {
  if (!job.request.apps.empty()) report_mixed_profiles(job);
  if (job.profile == Profile::kRl) set_rl(job);
}

}  // namespace muster
