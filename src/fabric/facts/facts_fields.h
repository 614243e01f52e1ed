// SPDX-License-Identifier: Apache-2.0
// The fields of the facts, listed once for reading and writing alike.
// Internal to facts_read.cc and facts_write.cc; documented field by field in
// docs/facts-schema.md, and a test holds the two together.
#pragma once

#include "base/is.h"
#include "fabric/facts/facts.h"

namespace muster::facts_fields {

template <class Visitor>
void visit(Visitor& v, Is<FabricGid> auto& gid) {
  v.field("index", gid.index);
  v.field("gid", gid.gid);
  v.field("type", gid.type);
  v.field("netdev", gid.netdev);
  v.field("readable", gid.readable);
  v.field("usable", gid.usable);
}

template <class Visitor>
void visit(Visitor& v, Is<FabricPort> auto& port) {
  v.field("port", port.number);
  v.field("state", port.state);
  v.field("link_layer", port.link_layer);
  v.field("rate_gbps", port.rate_gbps);
  v.field("mtu", port.mtu);
  v.field("netdev", port.netdev);
  v.field("phys_state", port.phys_state);
  v.field("pkeys", port.pkeys);
  v.field("gids", port.gids);
}

template <class Visitor>
void visit(Visitor& v, Is<FabricHca> auto& hca) {
  v.field("name", hca.name);
  v.field("driver", hca.driver);
  v.field("firmware", hca.firmware);
  v.field("pci", hca.pci);
  v.field("pci_path", hca.pci_path);
  v.field("numa", hca.numa);
  v.field("gpu_path", hca.gpu_path);
  v.field("vf", hca.vf);
  v.field("bond", hca.bond);
  v.field("iwarp", hca.iwarp);
  v.field("device", hca.device);
  v.field("usable", hca.usable);
  v.field("fails_at", hca.fails_at);
  v.field("error", hca.error);
  v.ports("ports", hca.ports);
}

template <class Visitor>
void visit(Visitor& v, Is<FabricNetdev> auto& netdev) {
  v.field("name", netdev.name);
  v.field("addresses", netdev.addresses);
  v.field("up", netdev.up);
  v.field("running", netdev.running);
  v.field("default_route", netdev.default_route);
  v.field("mtu", netdev.mtu);
  v.field("speed_mbps", netdev.speed_mbps);
  v.field("driver", netdev.driver);
  v.field("kind", netdev.kind);
  v.field("pci", netdev.pci);
}

template <class Visitor>
void visit(Visitor& v, Is<FabricGpu> auto& gpu) {
  v.field("name", gpu.name);
  v.field("vendor", gpu.vendor);
  v.field("pci", gpu.pci);
  v.field("pci_path", gpu.pci_path);
  v.field("numa", gpu.numa);
  v.field("compute_capability", gpu.compute_capability);
  v.bytes("memory_bytes", gpu.memory_bytes);
  v.bytes("memory_used_bytes", gpu.memory_used_bytes);
  v.field("utilization", gpu.utilization);
  v.field("ecc_errors", gpu.ecc_errors);
  v.field("slowdown", gpu.slowdown);
  v.field("remap_pending", gpu.remap_pending);
  v.field("remap_failed", gpu.remap_failed);
  v.field("mig", gpu.mig);
  v.field("nvlink", gpu.nvlink);
  v.field("gdr", gpu.gdr);
  v.field("dmabuf", gpu.dmabuf);
  v.field("multicast", gpu.multicast);
  v.field("fabric_state", gpu.fabric_state);
  v.field("fabric_status", gpu.fabric_status);
  v.field("fabric_cluster", gpu.fabric_cluster);
  v.field("fabric_clique", gpu.fabric_clique);
  v.field("nics", gpu.nics);
}

template <class Visitor>
void visit(Visitor& v, Is<FabricPlugin> auto& plugin) {
  v.field("name", plugin.name);
  v.field("network", plugin.network);
  v.field("version", plugin.version);
}

template <class Visitor>
void visit(Visitor& v, Is<FabricProvider> auto& provider) {
  v.field("name", provider.name);
  v.field("domains", provider.domains);
}

template <class Visitor>
void visit(Visitor& v, Is<FabricLibrary> auto& library) {
  v.field("family", library.family);
  v.field("version", library.version);
  v.field("cuda_aware", library.cuda_aware);
  v.field("providers", library.providers);
}

template <class Visitor>
void visit_identity(Visitor& v, Is<PodFabric> auto& pod) {
  v.field("name", pod.name);
  v.field("node", pod.node);
  v.field("vendor", pod.vendor);
  v.field("product", pod.product);
  v.field("asset_tag", pod.asset_tag);
  v.field("shape", pod.shape);
  v.field("virtual_machine", pod.virtual_machine);
  v.field("host_network", pod.host_network);
  v.field("peer_address", pod.peer_address);
  v.field("nccl_version", pod.nccl_version);
  v.field("plugins", pod.plugins);
  v.field("environment", pod.environment);
  v.field("nccl_conf", pod.nccl_conf);
  v.field("nccl_user_conf", pod.nccl_user_conf);
}

template <class Visitor>
void visit(Visitor& v, Is<PodFabric> auto& pod) {
  visit_identity(v, pod);
  v.field("hcas", pod.hcas);
  v.field("netdevs", pod.netdevs);
  v.field("gpus", pod.gpus);
  v.field("pci_hcas", pod.pci_hcas);
  v.field("modules", pod.modules);
  v.field("uverbs", pod.uverbs);
  v.field("gpu_driver", pod.gpu_driver);
  v.field("cuda_version", pod.cuda_version);
  v.bytes("memlock_bytes", pod.memlock_bytes);
  v.bytes("shm_bytes", pod.shm_bytes);
  v.field("peermem", pod.peermem);
  v.field("memory_peers", pod.memory_peers);
  v.field("dmabuf", pod.dmabuf);
  v.field("gdr_verified", pod.gdr_verified);
  v.field("gdr_trouble", pod.gdr_trouble);
  v.field("multicast", pod.multicast);
  v.field("nvswitch", pod.nvswitch);
  v.field("cumem_host", pod.cumem_host);
  v.field("p2p_works", pod.p2p_works);
  v.field("imex_channel", pod.imex_channel);
  v.field("acs", pod.acs);
  v.field("iommu", pod.iommu);
  v.field("cross_rail", pod.cross_rail);
  v.field("dead_hcas", pod.dead_hcas);
  v.field("files", pod.files);
  v.field("missing_files", pod.missing_files);
  v.object("mpi", pod.mpi);
  v.object("ucx", pod.ucx);
  v.object("libfabric", pod.libfabric);
}

}  // namespace muster::facts_fields
