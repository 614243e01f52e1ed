// SPDX-License-Identifier: Apache-2.0
// NCCL network plugins in images: the one that NCCL loads by itself, its
// purpose, and the switch that it obeys. Pure.
#pragma once

#include <optional>
#include <string>

#include "fabric/facts/effective.h"
#include "fabric/facts/facts.h"
#include "fabric/facts/nccl_version.h"

namespace muster {

enum class PluginKind {
  kUnknown,
  kOfi,         // aws-ofi-nccl: EFA, Slingshot
  kIbExt,       // HPC-X / nccl-rdma-sharp-plugins: InfiniBand, RoCE
  kSpectrumX,   // spcx: Spectrum-X RoCE
  kGib,         // Google gIB: RoCE on GCP
  kTcpx,        // GPUDirect-TCPX, TCPXO (FasTrak): GCP, no verbs
  kFastSocket,  // Google FastSocket: plain TCP
};

struct PluginView {
  const FabricPlugin* plugin = nullptr;
  PluginKind kind = PluginKind::kUnknown;
  bool by_default = false;  // loaded without NCCL_NET_PLUGIN
};

PluginKind plugin_kind(const FabricPlugin& plugin);
// The value of NCCL_NET_PLUGIN from the user, the image or nccl.conf. Since
// NCCL 2.27 an empty value means "none"; older releases ignore it.
std::optional<EffectiveValue> asked_plugin(const PodFabric& pod);
// The plugin that NCCL would load: NCCL_NET_PLUGIN's choice, else
// libnccl-net.so.
std::optional<PluginView> loaded_plugin(const PodFabric& pod);
// Any plugin of `kind` in the image, loaded or not.
std::optional<PluginView> find_plugin(const PodFabric& pod, PluginKind kind);
// aws-ofi-nccl, if the machine's adapters need it.
std::optional<PluginView> find_ofi_plugin(const PodFabric& pod);
// NCCL_NET_PLUGIN names plugins, and none of those in the image is of `kind` or
// unknown: a plugin of `kind` stays unloaded.
bool kept_out(const PodFabric& pod, PluginKind kind);
// NCCL of this version does not know the interface of the plugin, and goes on
// without it: it dropped v4 with 2.19 and v5 with 2.26.
bool is_too_old(const PluginView& plugin, const NcclVersion& version);
// The value for NCCL_NET that selects it: "AWS Libfabric", "gIB", …; "" if
// unknown.
std::string network_name(const PluginView& plugin);
// The value for NCCL_NET_PLUGIN: "ofi" for libnccl-net-ofi.so.
std::string plugin_suffix(const FabricPlugin& plugin);

}  // namespace muster
