// SPDX-License-Identifier: Apache-2.0
// The variables that follow from the job's transport: NCCL_NET, the adapter
// list, and the plugin if the wrong one would load. Pure.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/libfabric.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

constexpr const char* kNetSource = "NCCL guide, NCCL_NET; NVIDIA/nccl#234";

bool offers_rdma_anywhere(const FabricJob& job) {
  return std::any_of(job.pods.begin(), job.pods.end(),
                     [](auto& pod) { return !pod.offers.empty(); });
}

// A plugin for TCP in every image, and only TCP: it may stay.
bool all_fast_sockets(const FabricJob& job) {
  return std::all_of(job.pods.begin(), job.pods.end(), [](auto& pod) {
    const auto loaded = loaded_plugin(*pod.facts);
    return loaded && loaded->kind == PluginKind::kFastSocket;
  });
}

void set_tcp(FabricJob& job, FabricPodState& pod) {
  const auto users = effective(*pod.facts, "NCCL_NET");
  if (users && to_lower(users->value) != "socket" && pod.offers.empty() &&
      !pod.unknown) {
    report(job, &pod,
           {Severity::kError, "rdma_demanded",
            "NCCL_NET=" + users->value + " (" + users->origin +
                ") demands a network that the pod does not have: NCCL would "
                "stop with an error",
            pod.absent,
            "NCCL_NET=Socket, or remove it; or give the pod its adapters"});
    return;
  }
  const bool all_by_user =
      std::all_of(job.pods.begin(), job.pods.end(),
                  [](auto& other) { return other.tcp_by_user; });
  if (all_by_user || all_fast_sockets(job)) return;
  // NCCL_NET came with 2.10; it does not keep out plugins of that time.
  const bool old = pod.version && *pod.version < kNetByName;
  if (old && job.profile != Profile::kTcp && !offers_rdma_anywhere(job)) return;
  FabricSetting setting{"NCCL",
                        old ? "NCCL_IB_DISABLE" : "NCCL_NET",
                        old ? "1" : "Socket",
                        job.profile == Profile::kTcp ? "profile tcp"
                        : offers_rdma_anywhere(job)
                            ? "not every pod has RDMA, and NCCL processes that "
                              "chose different networks hang"
                            : "no pod has RDMA; with it no process looks for "
                              "another network and waits for the others there",
                        seen_for_tcp(job, pod),
                        FabricConfidence::kProven,
                        kNetSource};
  const auto tried = std::find_if(pod.ports.begin(), pod.ports.end(),
                                  [](auto& view) { return view.nccl_sees; });
  setting.alone = !pod.offers.empty() ? "RDMA in this pod"
                  : tried == pod.ports.end()
                      ? "Socket, found out in each process"
                      : "IB on " + tried->name() + ", which does not work";
  setting.rejected = {
      old ? "NCCL_NET=Socket: NCCL reads it since 2.10"
          : "NCCL_IB_DISABLE=1: plugins ignore it",
      "NCCL_IGNORE_NET_MISMATCH=1: hides the mismatch, then hangs"};
  propose(job, pod, setting);
}

void pin_rdma(FabricJob& job, FabricPodState& pod) {
  std::string name = "IB";
  const auto plugin = loaded_plugin(*pod.facts);
  if (plugin && (plugin->kind == PluginKind::kIbExt ||
                 plugin->kind == PluginKind::kSpectrumX ||
                 plugin->kind == PluginKind::kGib)) {
    name = network_name(*plugin);
  }
  if (!job.uses_verbs()) {
    const auto ofi = find_ofi_plugin(*pod.facts);
    name = ofi ? network_name(*ofi) : "AWS Libfabric";
  }
  if (name.empty() || job.transport == FabricTransport::kTcpx) return;
  FabricSetting setting{
      "NCCL",
      "NCCL_NET",
      name,
      "profile rdma: with it a fallback to TCP is an error",
      std::string(transport_name(job.transport)) + " in every pod",
      FabricConfidence::kProven,
      "NCCL guide, NCCL_NET"};
  setting.alone = "the same network, or silently TCP";
  setting.rejected = {"unset: a pod that loses its network would hang the job"};
  propose(job, pod, setting);
}

void set_list(FabricJob& job, FabricPodState& pod) {
  if (pod.list_reason.empty()) return;
  std::vector<std::string> names;
  for (const PortView& view : pod.ports) {
    if (view.chosen) names.push_back(view.name());
  }
  if (names.empty()) return;
  FabricSetting setting{"NCCL",
                        "NCCL_IB_HCA",
                        "=" + join(names, ","),
                        pod.list_reason,
                        std::to_string(names.size()) + " ports chosen",
                        FabricConfidence::kLikely,
                        "NCCL net_ib/init.cc: takes every active port"};
  setting.alone = "every active InfiniBand or Ethernet port";
  setting.rejected = {"a prefix such as mlx5_1: it also means mlx5_10",
                      "unset: see reason"};
  propose(job, pod, setting);
}

// Omni-Path: verbs work, and libfabric has the adapters' own providers (psm2,
// opx), for which such a plugin is there (ROCm/rccl-tests#90).
bool on_omni_path(const FabricPodState& pod) {
  return std::any_of(pod.ports.begin(), pod.ports.end(), [](auto& view) {
    return view.chosen && view.hca->name.starts_with("hfi1");
  });
}

void choose_plugin(FabricJob& job, FabricPodState& pod) {
  const auto loaded = loaded_plugin(*pod.facts);
  if (job.uses_libfabric()) {
    if (pod.mpi_only()) return;  // MPI has libfabric of its own
    const auto ofi = find_ofi_plugin(*pod.facts);
    if (!pod.facts->plugins || (!ofi && loaded)) {
      report(job, &pod,
             {Severity::kInfo, "plugin_unknown",
              !loaded ? "the facts do not say whether the image has the "
                        "aws-ofi-nccl plugin; without it NCCL uses TCP silently"
                      : "the facts do not say whether " + loaded->plugin->name +
                            " is aws-ofi-nccl; if not, NCCL uses TCP silently",
              "", "profile rdma makes that an error"});
    }
    if (!ofi || ofi->by_default) return;
    FabricSetting setting{"NCCL",
                          "NCCL_NET_PLUGIN",
                          plugin_suffix(*ofi->plugin),
                          "NCCL loads libnccl-net.so by itself, and the plugin "
                          "for this network has another name",
                          ofi->plugin->name,
                          FabricConfidence::kLikely,
                          "NCCL guide, NCCL_NET_PLUGIN"};
    setting.alone = "no plugin, hence TCP";
    setting.rejected = {"NCCL_NET alone: NCCL would not find the plugin"};
    propose(job, pod, setting);
    return;
  }
  if (!job.uses_verbs() || !loaded) return;
  const bool wrong = loaded->kind == PluginKind::kFastSocket ||
                     (loaded->kind == PluginKind::kOfi && !on_omni_path(pod)) ||
                     loaded->kind == PluginKind::kTcpx ||
                     (loaded->kind == PluginKind::kSpectrumX &&
                      job.transport != FabricTransport::kRoce);
  if (!wrong) return;
  const bool ofi = loaded->kind == PluginKind::kOfi;
  FabricSetting setting{
      "NCCL",
      "NCCL_NET_PLUGIN",
      "none",
      "the plugin in the image (" + loaded->plugin->name + ") is for " +
          (ofi ? "EFA and Slingshot" : "another network") +
          " and would come first" +
          (ofi && pod.facts->libfabric.providers
               ? "; libfabric's providers here: " + provider_names(*pod.facts)
               : ""),
      loaded->plugin->network.empty() ? loaded->plugin->name
                                      : loaded->plugin->network,
      FabricConfidence::kLikely,
      "NCCL guide, NCCL_NET_PLUGIN"};
  setting.alone = "the plugin, before its own InfiniBand code";
  setting.rejected = {"unset: NCCL asks plugins first"};
  propose(job, pod, setting);
}

}  // namespace

void set_transport(FabricJob& job) {
  if (job.transport == FabricTransport::kUnknown) return;
  for (FabricPodState& pod : job.pods) {
    if (job.transport == FabricTransport::kTcp) {
      set_tcp(job, pod);
      continue;
    }
    if (job.profile == Profile::kRl) continue;
    choose_plugin(job, pod);
    if (job.uses_verbs()) set_list(job, pod);
    if (job.profile == Profile::kRdma) pin_rdma(job, pod);
  }
  if (job.transport != FabricTransport::kTcp || !offers_rdma_anywhere(job)) {
    return;
  }
  std::set<std::string> variables;
  for (const FabricPodState& pod : job.pods) {
    if (pod.tcp_by_user) variables.insert(pod.ruled_out_by);
  }
  const bool by_user = !variables.empty();
  const std::string why = join({variables.begin(), variables.end()}, ", ") +
                          (variables.size() == 1 ? " of the user rules it out"
                                                 : " of the user rule it out");
  if (job.profile == Profile::kRdma && by_user) {
    report(job, nullptr,
           {Severity::kError, "tcp_for_all",
            "profile rdma asks for RDMA, which is there, and " + why, "",
            "correct or remove that, or the profile"});
  }
  if (job.profile == Profile::kAuto) {
    report(job, nullptr,
           {Severity::kWarning, "tcp_for_all",
            by_user ? "RDMA is there, but " + why + ": the whole job uses TCP"
                    : "some pods have RDMA and some do not: the whole job uses "
                      "TCP",
            "",
            by_user ? "correct or remove that; profile rdma refuses to start "
                      "instead"
                    : "profile rdma refuses to start instead"});
  }
}

}  // namespace muster
