// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/network/plugins.h"

#include "base/text.h"

namespace muster {

namespace {

struct KindWord {
  const char* word;
  PluginKind kind;
};

// Searched in the network's name, then in the file's.
constexpr KindWord kWords[] = {
    {"libfabric", PluginKind::kOfi},
    {"ofi", PluginKind::kOfi},
    {"ibext", PluginKind::kIbExt},
    {"sharp", PluginKind::kIbExt},
    {"hpcx", PluginKind::kIbExt},
    {"hpc-x", PluginKind::kIbExt},
    {"nccl rdma plugin", PluginKind::kIbExt},  // until 2.18
    {"spcx", PluginKind::kSpectrumX},
    {"spectrum", PluginKind::kSpectrumX},
    {"gib", PluginKind::kGib},
    {"fastrak", PluginKind::kTcpx},
    {"tcpx", PluginKind::kTcpx},
    {"fastsocket", PluginKind::kFastSocket},
};

// The file that the pod's library loads by itself. RCCL's was librccl-net.so
// until that of ROCm 7.2 took NCCL's name over (ROCm/rocm-systems#4001).
constexpr NcclVersion kNamesOfNccl{2, 27, 0};
// Where NCCL splits the value at commas, and finds no name in an empty one.
constexpr NcclVersion kEmptyIsNone{2, 27, 0};

bool is_default_file(const PodFabric& pod, const std::string& name) {
  const auto version = parse_nccl_version(pod.nccl_version);
  const bool amds = name.ends_with("librccl-net.so");
  if (amds && version && *version >= kNamesOfNccl) return false;
  return amds || name.ends_with("libnccl-net.so") ||
         (name.find("ccl-net-") == std::string::npos &&
          name.find("librccl-anp") == std::string::npos);
}

// By NCCL_NET_PLUGIN: "ofi", "libnccl-net-ofi.so", or a path to it.
bool is_meant(const FabricPlugin& plugin, std::string_view word) {
  const auto file = [](std::string_view path) {
    return path.substr(path.rfind('/') + 1);
  };
  return plugin_suffix(plugin) == word ||
         (!word.empty() && file(plugin.name) == file(word));
}

PluginView view(const PodFabric& pod, const FabricPlugin& plugin) {
  return {&plugin, plugin_kind(plugin), is_default_file(pod, plugin.name)};
}

}  // namespace

PluginKind plugin_kind(const FabricPlugin& plugin) {
  for (const std::string& text :
       {to_lower(plugin.network), to_lower(plugin.name)}) {
    for (const KindWord& known : kWords) {
      if (text.find(known.word) != std::string::npos) return known.kind;
    }
  }
  return PluginKind::kUnknown;
}

std::string plugin_suffix(const FabricPlugin& plugin) {
  const std::string marker = "ccl-net-";  // libnccl-net-ofi.so, librccl-…
  const size_t at = plugin.name.find(marker);
  if (at == std::string::npos) return plugin.name;
  const std::string rest = plugin.name.substr(at + marker.size());
  return rest.substr(0, rest.find(".so"));
}

std::optional<EffectiveValue> asked_plugin(const PodFabric& pod) {
  constexpr const char* kName = "NCCL_NET_PLUGIN";
  const auto found = pod.environment.find(kName);
  if (found == pod.environment.end() || !found->second.empty()) {
    return effective(pod, kName);
  }
  const auto version = parse_nccl_version(pod.nccl_version);
  if (version && *version < kEmptyIsNone) return std::nullopt;
  return EffectiveValue{"none", "environment, empty"};
}

std::optional<PluginView> loaded_plugin(const PodFabric& pod) {
  if (!pod.plugins) return std::nullopt;
  const auto asked = asked_plugin(pod);
  if (!asked) {
    for (const FabricPlugin& plugin : *pod.plugins) {
      if (is_default_file(pod, plugin.name)) return view(pod, plugin);
    }
    return std::nullopt;
  }
  for (const auto word : split(asked->value, ',')) {
    for (const FabricPlugin& plugin : *pod.plugins) {
      if (is_meant(plugin, word)) {
        PluginView found = view(pod, plugin);
        found.by_default = true;
        return found;
      }
    }
  }
  return std::nullopt;
}

std::optional<PluginView> find_plugin(const PodFabric& pod, PluginKind kind) {
  if (const auto loaded = loaded_plugin(pod); loaded && loaded->kind == kind) {
    return loaded;
  }
  if (!pod.plugins) return std::nullopt;
  for (const FabricPlugin& plugin : *pod.plugins) {
    if (plugin_kind(plugin) == kind) return view(pod, plugin);
  }
  return std::nullopt;
}

std::optional<PluginView> find_ofi_plugin(const PodFabric& pod) {
  if (const auto found = find_plugin(pod, PluginKind::kOfi)) return found;
  // On a machine whose network is libfabric's, librccl-net.so is for it.
  if (!pod.plugins || loaded_plugin(pod)) return std::nullopt;
  for (const FabricPlugin& plugin : *pod.plugins) {
    if (plugin.name.ends_with("librccl-net.so")) return view(pod, plugin);
  }
  return std::nullopt;
}

bool kept_out(const PodFabric& pod, PluginKind kind) {
  const auto asked = asked_plugin(pod);
  if (!asked) return false;
  for (const auto part : split(asked->value, ',')) {
    const std::string word(trim(part));
    if (to_lower(word) == "none") continue;
    FabricPlugin named;
    named.name = word;
    bool listed = false;
    if (pod.plugins) {
      for (const FabricPlugin& plugin : *pod.plugins) {
        if (is_meant(plugin, word)) {
          named = plugin;
          listed = true;
        }
      }
      // A path may lead anywhere; a name is not in the image.
      if (!listed && word.find('/') == word.npos) continue;
    }
    const PluginKind found = plugin_kind(named);
    if (found == kind || found == PluginKind::kUnknown) return false;
  }
  return true;
}

bool is_too_old(const PluginView& plugin, const NcclVersion& version) {
  const int oldest = version >= NcclVersion{2, 26, 0}   ? 6
                     : version >= NcclVersion{2, 19, 0} ? 5
                                                        : 0;
  int64_t newest = 99;  // interface that the plugin has
  if (plugin.kind == PluginKind::kOfi) {
    const auto own = parse_nccl_version(plugin.plugin->version);
    // aws-ofi-nccl 1.5 has v4 to v6, older ones v4.
    if (own && *own < NcclVersion{1, 5, 0}) newest = 4;
  } else if (plugin.kind == PluginKind::kIbExt) {
    const std::string& name = plugin.plugin->network;  // "IBext_v5"
    const size_t mark = name.rfind("_v");
    if (mark != name.npos) {
      newest = parse_integer(name.substr(mark + 2)).value_or(newest);
    }
  }
  return newest < oldest;
}

std::string network_name(const PluginView& plugin) {
  if (!plugin.plugin->network.empty()) return plugin.plugin->network;
  switch (plugin.kind) {
    case PluginKind::kOfi:
      return "AWS Libfabric";
    case PluginKind::kGib:
      return "gIB";
    default:
      return "";
  }
}

}  // namespace muster
