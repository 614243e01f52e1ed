// SPDX-License-Identifier: Apache-2.0
// Published values of cloud vendors that a pod cannot detect (traffic class,
// queue pairs, topology file). Policy, not measurement, and marked so. Never
// overrides the vendor's own /etc/nccl.conf, never invents a value. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/libfabric.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/network/published_machines.h"

namespace muster {

namespace {

struct VendorValue {
  Platform platform;
  FabricTransport transport;
  const char* driver;  // prefix of the adapters' driver; "": any
  const char* library;
  const char* name;
  const char* value;
  const char* source;
  const char* gpus = "";  // "nvidia" or "amd"; "": any
};

constexpr const char* kOci =
    "oci-hpc-oke docs/recommended-nccl-rccl-parameters-by-shape.md";
constexpr const char* kErdma = "Alibaba Cloud PAI documentation, eRDMA";
constexpr const char* kAzure =
    "Azure/azhpc-images components/customizations/ndv4.sh, ndv5.sh";
constexpr const char* kShs = "HPE shs-ccl-docs, tuning guides of NCCL and RCCL";

constexpr VendorValue kValues[] = {
    {Platform::kOci, FabricTransport::kRoce, "mlx5", "NCCL", "NCCL_IB_TC", "41",
     kOci},
    {Platform::kOci, FabricTransport::kRoce, "ionic", "NCCL", "NCCL_IB_TC",
     "41", kOci},
    {Platform::kOci, FabricTransport::kRoce, "ionic", "NCCL", "NCCL_IB_FIFO_TC",
     "185", kOci},
    {Platform::kOci, FabricTransport::kRoce, "mlx5", "NCCL", "NCCL_IB_TIMEOUT",
     "22", kOci},
    {Platform::kOci, FabricTransport::kRoce, "", "NCCL", "NCCL_PXN_DISABLE",
     "0", kOci, "amd"},
    {Platform::kAlibaba, FabricTransport::kRoce, "erdma", "NCCL",
     "NCCL_IB_QPS_PER_CONNECTION", "8", kErdma},
    {Platform::kAlibaba, FabricTransport::kRoce, "erdma", "NCCL",
     "NCCL_MIN_NCHANNELS", "16", kErdma},
    {Platform::kAlibaba, FabricTransport::kRoce, "erdma", "NCCL",
     "NCCL_NET_PLUGIN", "none", kErdma},
    {Platform::kAzure, FabricTransport::kInfiniBand, "", "NCCL",
     "NCCL_IB_PCI_RELAXED_ORDERING", "1", kAzure},
    {Platform::kSlingshot, FabricTransport::kSlingshot, "", "NCCL",
     "NCCL_CROSS_NIC", "1", kShs},
    // RCCL takes PHB by itself where it is right (src/graph/paths.cc, on
    // processors of AMD); forced, jobs hang with that of ROCm 7.0
    // (lumi-ai-factory/laifs-container-recipes#30).
    {Platform::kSlingshot, FabricTransport::kSlingshot, "", "NCCL",
     "NCCL_NET_GDR_LEVEL", "PHB", kShs, "nvidia"},
    {Platform::kSlingshot, FabricTransport::kSlingshot, "", "libfabric",
     "FI_CXI_DEFAULT_CQ_SIZE", "131072", kShs},
    {Platform::kSlingshot, FabricTransport::kSlingshot, "", "libfabric",
     "FI_CXI_RDZV_PROTO", "alt_read", kShs},
    {Platform::kSlingshot, FabricTransport::kSlingshot, "", "libfabric",
     "FI_CXI_RX_MATCH_MODE", "hybrid", kShs},
    {Platform::kSlingshot, FabricTransport::kSlingshot, "", "libfabric",
     "FI_CXI_DISABLE_HOST_REGISTER", "1", kShs},
    {Platform::kSlingshot, FabricTransport::kSlingshot, "", "libfabric",
     "FI_MR_CACHE_MONITOR", "userfaultfd", kShs},
};

bool uses_driver(const FabricPodState& pod, std::string_view driver) {
  return driver.empty() ||
         std::any_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
           return view.chosen && (view.hca->driver.starts_with(driver) ||
                                  view.hca->name.starts_with(driver));
         });
}

FabricSetting policy(const char* library, const char* name, std::string value,
                     std::string evidence, const char* source) {
  FabricSetting setting{library,
                        name,
                        std::move(value),
                        "published by the vendor of this machine: policy that "
                        "cannot be detected",
                        std::move(evidence),
                        FabricConfidence::kLikely,
                        source};
  setting.alone = "its default";
  setting.rejected = {"unset: the default is made for other networks"};
  // Timeouts, queue pairs, classes, sizes of queues and matching of messages: a
  // user who sets others knows the network.
  const std::string_view word = name;
  setting.tuning = word.starts_with("NCCL_IB_") ||
                   word.starts_with("FI_CXI_DEFAULT_") ||
                   word.starts_with("FI_CXI_R");
  return setting;
}

// For values that choose: the other choice, and why it lost.
void choose(FabricJob& job, FabricPodState& pod, FabricSetting setting,
            const char* alone, const char* lost) {
  setting.alone = alone;
  setting.rejected = {lost};
  propose(job, pod, std::move(setting));
}

// The vendor's topology file for this size of machine, if the pod has it.
void set_topology_file(FabricJob& job, FabricPodState& pod) {
  double rate = 0;
  for (const PortView& view : pod.ports) {
    if (view.chosen) rate = std::max(rate, view.port->rate_gbps);
  }
  const bool fifth = rate > 300 || to_lower(pod.facts->shape).ends_with("_v5");
  const std::string size = fifth ? "ndv5" : "ndv4";
  const auto files = pod.facts->files.value_or(std::vector<std::string>{});
  for (const std::string& file : files) {
    if (file.find(size) == std::string::npos || !file.ends_with(".xml") ||
        file.find("topo") == std::string::npos) {
      continue;
    }
    choose(job, pod,
           policy("NCCL", "NCCL_TOPO_FILE", file, "the file exists", kAzure),
           "what /sys shows, which is flat in a virtual machine",
           "unset: NCCL would take no adapter to be near a GPU");
    return;
  }
  if (effective(*pod.facts, "NCCL_TOPO_FILE")) return;
  report(job, &pod,
         {Severity::kInfo, "topology_file",
          "the vendor's NCCL topology file for this machine is not in the "
          "image",
          "",
          "copy " + size +
              "-topo.xml from the vendor's VM image and set "
              "NCCL_TOPO_FILE"});
}

void set_gib(FabricJob& job, FabricPodState& pod) {
  const auto gib = find_plugin(*pod.facts, PluginKind::kGib);
  if (!gib) {
    const auto users = effective(*pod.facts, "NCCL_NET");
    const bool said = users && to_lower(trim(users->value)) == "gib";
    if (pod.facts->plugins && !said) {  // by lint_net_name()
      report(job, &pod,
             {Severity::kWarning, "plugin_missing",
              "the gIB plugin of Google Cloud is not in the image: the "
              "vendor's settings for this network come with it",
              "", "mount /usr/local/gib as the vendor's nccl-gib pages show"});
    }
    return;
  }
  choose(job, pod,
         policy("NCCL", "NCCL_NET", network_name(*gib),
                gib->plugin->name.empty() ? "the plugin" : gib->plugin->name,
                "cluster-toolkit examples/gke-a3-ultragpu"),
         "the plugin, or silently InfiniBand and TCP",
         "unset: where the plugin fails, NCCL would go on without it");
  const bool sourced = effective(*pod.facts, "NCCL_TUNER_CONFIG_PATH") ||
                       effective(*pod.facts, "NCCL_NET");
  if (sourced) return;
  report(job, &pod,
         {Severity::kInfo, "vendor_script",
          "the vendor's own variables are set by set_nccl_env.sh, which has "
          "not run in this environment",
          "",
          "source /usr/local/gib/scripts/set_nccl_env.sh before the "
          "program"});
}

// By shape; of machines of an unknown one, those with 100 Gb/s are of the
// generation for which four queue pairs are published.
void set_oci_queue_pairs(FabricJob& job, FabricPodState& pod) {
  std::string count;
  if (const PublishedMachine* machine = published_machine(*pod.facts)) {
    count = machine->queue_pairs;
  } else if (pod.facts->shape.empty() &&
             std::any_of(pod.ports.begin(), pod.ports.end(), [](auto& view) {
               return view.chosen && view.port->rate_gbps == 100;
             })) {
    count = "4";
  }
  if (count.empty()) return;
  propose(job, pod,
          policy("NCCL", "NCCL_IB_QPS_PER_CONNECTION", count,
                 std::string(platform_name(Platform::kOci)), kOci));
}

// With it a plugin that finds no network is an error. In a single pod it would
// only cost (its README).
void pin_slingshot(FabricJob& job, FabricPodState& pod) {
  const auto ofi = find_ofi_plugin(*pod.facts);
  if (job.pods.size() < 2 || !ofi || effective(*pod.facts, "NCCL_NET")) return;
  const bool no_provider =
      std::any_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
        return view.chosen && no(has_provider(*pod.facts, view));
      });
  if (no_provider) return;  // TCP would be left, and check_providers() says so
  const std::string name = network_name(*ofi);
  if (name.empty()) return;
  choose(job, pod,
         policy("NCCL", "NCCL_NET", name,
                ofi->plugin->name.empty() ? "the plugin" : ofi->plugin->name,
                kShs),
         "the plugin, or silently TCP",
         "unset: where the plugin fails, NCCL would go on without it");
}

// All hsn interfaces, for the rendezvous too.
void set_slingshot_sockets(FabricJob& job, FabricPodState& pod) {
  std::vector<std::string> names;
  if (pod.facts->netdevs) {
    for (const FabricNetdev& netdev : *pod.facts->netdevs) {
      if (netdev.name.starts_with("hsn")) names.push_back(netdev.name);
    }
  }
  if (names.empty()) return;
  choose(job, pod,
         policy("NCCL", "NCCL_SOCKET_IFNAME", join(names, ","),
                "hsn interfaces", kShs),
         "the first interface in NCCL's own order",
         "unset: NCCL could take an interface of the management network");
}

// Two ports joined by LAG: one queue pair uses one of them.
void set_bonds(FabricJob& job, FabricPodState& pod) {
  const bool bonded =
      std::any_of(pod.ports.begin(), pod.ports.end(), [](auto& view) {
        return view.chosen &&
               (yes(view.hca->bond) ||
                view.hca->name.find("bond") != std::string::npos);
      });
  if (!bonded || pod.assumed_version() >= kLagFixed) return;
  const auto users = effective(*pod.facts, "NCCL_IB_QPS_PER_CONNECTION");
  if (users && parse_integer(trim(users->value)).value_or(0) > 2) return;
  FabricSetting setting{"NCCL",
                        "NCCL_IB_QPS_PER_CONNECTION",
                        "2",
                        "the adapters are bonds of two ports, and one queue "
                        "pair uses one port only",
                        "device name or LAG flag",
                        FabricConfidence::kGuess,
                        "NCCL guide, NCCL_IB_QPS_PER_CONNECTION"};
  setting.alone = "1";
  setting.rejected = {"more than 2: the bond has two ports"};
  propose(job, pod, setting);
}

}  // namespace

void set_vendor_values(FabricJob& job) {
  if (job.profile == Profile::kRl) return;
  for (FabricPodState& pod : job.pods) {
    if (pod.mpi_only()) continue;  // all of it is for NCCL and its plugins
    if (job.transport == FabricTransport::kRoce) {
      const bool gib = find_plugin(*pod.facts, PluginKind::kGib).has_value();
      if (pod.platform == Platform::kGcp || gib) set_gib(job, pod);
    }
    if (!pod.facts->nccl_conf.empty()) continue;
    for (const VendorValue& entry : kValues) {
      const bool slingshot = entry.platform == Platform::kSlingshot &&
                             job.transport == FabricTransport::kSlingshot;
      if (pod.platform != entry.platform && !slingshot) continue;
      if (job.transport != entry.transport) continue;
      if (!uses_driver(pod, entry.driver)) continue;
      const std::string_view gpus = has_amd_gpus(*pod.facts) ? "amd" : "nvidia";
      if (*entry.gpus != 0 && gpus != entry.gpus) continue;
      propose(job, pod,
              policy(entry.library, entry.name, entry.value,
                     std::string(platform_name(entry.platform)), entry.source));
    }
    if (pod.platform == Platform::kAzure &&
        job.transport == FabricTransport::kInfiniBand) {
      set_topology_file(job, pod);
    }
    if (job.transport == FabricTransport::kSlingshot) {
      pin_slingshot(job, pod);
      set_slingshot_sockets(job, pod);
    }
    if (job.transport == FabricTransport::kRoce) {
      if (pod.platform == Platform::kOci) set_oci_queue_pairs(job, pod);
      set_bonds(job, pod);
    }
  }
}

}  // namespace muster
