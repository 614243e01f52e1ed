// SPDX-License-Identifier: Apache-2.0
#include "fabric/show.h"

#include <algorithm>

#include "base/text.h"
#include "fabric/policy/network/platform.h"
#include "fabric/policy/network/ports.h"
#include "fabric/policy/network/sockets.h"

namespace muster {

namespace {

std::string rate(double gbps) {
  return gbps > 0 ? std::to_string(static_cast<int>(gbps)) + " Gb/s" : "?";
}

std::string about(const PortView& view) {
  std::string text = "  " + std::string(link_kind_name(view.kind)) + "  " +
                     rate(view.port->rate_gbps);
  if (!view.hca->driver.empty()) text += "  " + view.hca->driver;
  if (yes(view.hca->vf)) text += " VF";
  if (!view.port->netdev.empty()) text += "  " + view.port->netdev;
  return text + "  " + view.role + ": " + view.reason + "\n";
}

void show_adapters(std::string& out, const PodFabric& pod) {
  if (!pod.hcas) {
    out += "  RDMA adapters: unknown\n";
    return;
  }
  out += "  RDMA adapters: " + std::to_string(pod.hcas->size()) + "\n";
  std::string last;  // what stands behind the name
  std::vector<std::string> names;
  const auto flush = [&] {
    if (names.empty()) return;
    out += "    " + names.front();
    if (names.size() > 1) {
      out += (names.size() > 2 ? " to " : ", ") + names.back();
    }
    out += last;
    names.clear();
  };
  for (const PortView& view : view_ports(pod)) {
    const std::string text = about(view);
    if (text != last) flush();
    last = text;
    names.push_back(view.name());
  }
  flush();
  if (pod.pci_hcas && pod.hcas->empty() && !pod.pci_hcas->empty()) {
    out += "    on the PCI bus: " + join(*pod.pci_hcas, ", ") + "\n";
  }
}

void show_interfaces(std::string& out, const PodFabric& pod) {
  if (!pod.netdevs) {
    out += "  interfaces: unknown\n";
    return;
  }
  const PrimaryInterface primary = primary_interface(pod);
  out += "  interfaces:\n";
  for (const FabricNetdev& netdev : *pod.netdevs) {
    out += "    " + netdev.name + "  " +
           std::string(netdev_class_name(netdev_class(netdev)));
    if (!netdev.addresses.empty()) out += "  " + join(netdev.addresses, " ");
    if (netdev.mtu > 0) out += "  MTU " + std::to_string(netdev.mtu);
    if (netdev.name == primary.name) out += "  (peers: " + primary.reason + ")";
    out += "\n";
  }
}

std::string amount(int64_t bytes) {
  if (bytes == -1) return "unlimited";
  return bytes < 0 ? "unknown" : human_bytes(static_cast<uint64_t>(bytes));
}

void show_gpu(std::string& out, const FabricGpu& gpu) {
  const bool quiet =
      gpu.slowdown.empty() && !yes(gpu.remap_pending) && !yes(gpu.remap_failed);
  if (gpu.memory_bytes < 0 && gpu.ecc_errors < 1 && !yes(gpu.mig) && quiet) {
    return;
  }
  out += "    " + gpu.pci;
  if (gpu.memory_bytes > 0) {
    out += "  memory " + amount(std::max<int64_t>(gpu.memory_used_bytes, 0)) +
           " of " + amount(gpu.memory_bytes) + " used";
  }
  if (gpu.utilization >= 0) {
    out += "  busy " + std::to_string(gpu.utilization) + " %";
  }
  if (gpu.nvlink) out += yes(gpu.nvlink) ? "  NVLink" : "  no NVLink";
  if (yes(gpu.mig)) out += "  MIG";
  if (gpu.gdr) out += yes(gpu.gdr) ? "  GPUDirect RDMA" : "";
  if (gpu.ecc_errors > 0) {
    out += "  " + std::to_string(gpu.ecc_errors) + " uncorrected ECC errors";
  }
  if (!gpu.slowdown.empty()) {
    out += "  clocks held down (" + join(gpu.slowdown, ", ") + ")";
  }
  if (yes(gpu.remap_pending)) out += "  needs a reset (rows to remap)";
  if (yes(gpu.remap_failed)) out += "  row remapping failed";
  out += "\n";
}

void show_gpus(std::string& out, const PodFabric& pod) {
  if (!pod.gpus) {
    out += "  GPUs: unknown\n";
    return;
  }
  out += "  GPUs: " + std::to_string(pod.gpus->size());
  if (!pod.gpus->empty()) out += " x " + pod.gpus->front().name;
  if (!pod.gpu_driver.empty()) out += ", driver " + pod.gpu_driver;
  if (!pod.cuda_version.empty()) out += ", CUDA " + pod.cuda_version;
  out += "\n";
  for (const FabricGpu& gpu : *pod.gpus) show_gpu(out, gpu);
}

void show_libfabric(std::string& out, const PodFabric& pod) {
  const FabricLibrary& library = pod.libfabric;
  if (library.version.empty() && !library.providers) return;
  out += "\n  libfabric: " + library.version;
  if (!library.providers) return;
  std::vector<std::string> parts;
  for (const FabricProvider& provider : *library.providers) {
    parts.push_back(provider.name +
                    (provider.domains.empty()
                         ? ""
                         : " (" + join(provider.domains, " ") + ")"));
  }
  out += parts.empty() ? ", no provider" : ", " + join(parts, ", ");
}

}  // namespace

std::string show_pod(const PodFabric& pod) {
  std::string out = pod.name.empty() ? "this pod" : pod.name;
  const auto platform = platform_name(platform_of(pod));
  if (!platform.empty()) out += " on " + std::string(platform);
  if (!pod.product.empty()) out += " (" + pod.product + ")";
  out += "\n";
  show_adapters(out, pod);
  show_interfaces(out, pod);
  show_gpus(out, pod);
  out +=
      "  NCCL: " + (pod.nccl_version.empty() ? "not found" : pod.nccl_version);
  if (pod.plugins) {
    for (const FabricPlugin& plugin : *pod.plugins) {
      out += ", plugin " + plugin.name;
    }
  }
  show_libfabric(out, pod);
  out += "\n  memlock " + amount(pod.memlock_bytes) + ", /dev/shm " +
         (pod.shm_bytes < 0 ? "unknown" : amount(pod.shm_bytes)) + "\n";
  return out;
}

}  // namespace muster
