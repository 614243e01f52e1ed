// SPDX-License-Identifier: Apache-2.0
// lint_network(): variables that do not fit the network of the job: RoCE's on
// InfiniBand, NCCL's own InfiniBand code's beside libfabric, a GID index or a
// range that means no address of the pod, missing networks and plugins. Pure.
#include <algorithm>

#include "base/text.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

void lint_on_infiniband(FabricJob& job, FabricPodState& pod,
                        const std::string& name) {
  if (job.transport != FabricTransport::kInfiniBand) return;
  for (const char* roce_only :
       {"NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_IB_GID_INDEX",
        "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE",
        "NCCL_IB_ROCE_VERSION_NUM"}) {
    if (name != roce_only) continue;
    lint_warn(job, pod, "lint_no_effect",
              name + " has no effect on InfiniBand: it is for RoCE",
              name == "NCCL_IB_TC"
                  ? "NCCL_IB_SL chooses the service level there"
                  : "remove it");
  }
}

// Every pod has RDMA, or rules it out itself.
bool ruled_out_by_users(const FabricJob& job) {
  const auto by_user = [](auto& pod) { return pod.tcp_by_user; };
  return std::any_of(job.pods.begin(), job.pods.end(), by_user) &&
         std::all_of(job.pods.begin(), job.pods.end(), [&](auto& pod) {
           return by_user(pod) || !pod.offers.empty();
         });
}

// EFA and Slingshot are reached through libfabric; TCP has no adapters.
void lint_without_verbs(FabricJob& job, FabricPodState& pod,
                        const std::string& name) {
  if (!name.starts_with("NCCL_IB_") || name == "NCCL_IB_DISABLE") return;
  switch (job.transport) {
    case FabricTransport::kEfa:
    case FabricTransport::kSlingshot:
    case FabricTransport::kTcpx:
      lint_warn(job, pod, "lint_no_effect",
                name + " has no effect on " +
                    std::string(transport_name(job.transport)) +
                    ": the plugin does not use NCCL's InfiniBand code",
                "remove it");
      return;
    case FabricTransport::kTcp:
      // This may be the cause.
      if (pod.tcp_by_user || ruled_out_by_users(job)) return;
      report(job, &pod,
             {Severity::kInfo, "lint_no_effect",
              name + " has no effect: the job uses TCP", "", "remove it"});
      return;
    default:
      return;
  }
}

std::vector<const FabricGid*> all_usable(const FabricPodState& pod,
                                         const PortView& view, bool global) {
  std::vector<const FabricGid*> out;
  for (const GidAddress kind : {GidAddress::kIpv4, GidAddress::kIpv6}) {
    for (const FabricGid* gid : usable_gids(*pod.facts, *view.port, kind)) {
      out.push_back(gid);
    }
  }
  if (global && !out.empty()) return out;
  const auto local =
      usable_gids(*pod.facts, *view.port, GidAddress::kLinkLocal);
  out.insert(out.end(), local.begin(), local.end());
  return out;
}

// The entry is known to fail on every port that NCCL uses: the kernel shows it
// to other namespaces only, or it gives no address handle.
bool dead_everywhere(const FabricPodState& pod, std::int64_t index) {
  bool any = false;
  for (const PortView& view : pod.ports) {
    if (!view.chosen) continue;
    if (!view.port->gids) return false;
    const auto dead = [&](const FabricGid& gid) {
      return gid.index == index &&
             (gid.readable == false || gid.usable == false);
    };
    any = std::any_of(view.port->gids->begin(), view.port->gids->end(), dead);
    if (!any) return false;
  }
  return any;
}

}  // namespace

void lint_gid_index(FabricJob& job, FabricPodState& pod,
                    const std::string& name, const std::string& value,
                    bool finds_itself) {
  if (job.transport != FabricTransport::kRoce) return;
  const auto index = parse_integer(trim(value));
  if (!index || *index < 0) return;
  if (name == "NCCL_IB_GID_INDEX" && pod.version && job.pods.size() > 1 &&
      dead_everywhere(pod, *index)) {
    report(job, &pod,
           {Severity::kError, "lint_gid_index",
            name + "=" + value +
                ": this pod cannot use that address on any adapter, and NCCL "
                "stops at its first connection",
            "",
            finds_itself ? "remove it: the address is found without it"
                         : "choose the index per pod"});
    return;
  }
  for (const PortView& view : pod.ports) {
    if (!view.chosen || !view.port->gids) continue;
    const auto among = [&](bool global) {
      const auto list = all_usable(pod, view, global);
      return std::any_of(list.begin(), list.end(),
                         [&](auto* gid) { return gid->index == *index; });
    };
    if (among(true)) continue;
    lint_warn(job, pod, "lint_gid_index",
              name + "=" + value +
                  (among(false) ? " is a link-local address of "
                                : " is not a usable RoCE v2 address of ") +
                  view.name() +
                  (among(false) ? ", which a router does not pass" : ""),
              finds_itself ? "remove it: the address is found without it"
                           : "choose the index per pod");
    return;
  }
}

namespace {

// How NCCL reads a malformed range: it takes one network with a length.
std::string range_trouble(const std::string& range, bool ipv6) {
  const std::string first(trim(split(range, ',')[0]));
  if (first.size() != trim(range).size()) {
    return "NCCL reads one network, here " + first + ", and no list";
  }
  const auto parts = split(first, '/');
  const auto bits = parts.size() == 2 ? parse_integer(parts[1]) : std::nullopt;
  if (parts.size() < 2) {
    return "there is no length behind the address, without which NCCL may "
           "crash";
  }
  const std::string address(parts[0]);
  if (address.empty() ||
      address_in(address, "::/0") == address_in(address, "0.0.0.0/0")) {
    return "\"" + address + "\" is not an address; NCCL ignores the range";
  }
  if (address_in(address, "0.0.0.0/0") == ipv6) {
    return std::string("NCCL_IB_ADDR_FAMILY is ") +
           (ipv6 ? "AF_INET6" : "AF_INET") + ", and NCCL ignores the range";
  }
  if (!bits || *bits < 0 || *bits > (ipv6 ? 128 : 32)) {
    return "\"" + std::string(parts[1]) +
           "\" is not a prefix length; NCCL ignores the range";
  }
  return "";
}

// NCCL_IB_ADDR_FAMILY and NCCL_IB_ADDR_RANGE, which steer NCCL's own scan.
void lint_gid_scan(FabricJob& job, FabricPodState& pod, const std::string& name,
                   const EffectiveValue& users) {
  if (job.transport != FabricTransport::kRoce) return;
  if (name != "NCCL_IB_ADDR_RANGE" && name != "NCCL_IB_ADDR_FAMILY") return;
  if (effective(*pod.facts, "NCCL_IB_GID_INDEX")) return;  // no scan then
  const auto family = effective(*pod.facts, "NCCL_IB_ADDR_FAMILY");
  const bool ipv6 = family && trim(family->value) == "AF_INET6";
  std::string range = name == "NCCL_IB_ADDR_RANGE" ? users.value : "";
  const std::string trouble = range.empty() ? "" : range_trouble(range, ipv6);
  if (!trouble.empty()) {
    lint_warn(job, pod, "lint_range_form",
              name + "=" + users.value + ": " + trouble,
              "write one network, for example 10.0.0.0/16");
    if (split(range, ',').size() < 2) return;
    range = trim(split(range, ',')[0]);
  }
  const auto kind = ipv6 ? GidAddress::kIpv6 : GidAddress::kIpv4;
  for (const PortView& view : pod.ports) {
    const bool typed =
        view.port->gids &&
        std::any_of(view.port->gids->begin(), view.port->gids->end(),
                    [](auto& gid) { return !gid.type.empty(); });
    if (!view.chosen || !typed) continue;
    const auto list = usable_gids(*pod.facts, *view.port, kind);
    const bool any = std::any_of(list.begin(), list.end(), [&](auto* gid) {
      return range.empty() || address_in(gid->gid, range);
    });
    if (any) continue;
    lint_warn(job, pod, "lint_gid_range",
              name + "=" + users.value + ": " + view.name() +
                  " has no usable RoCE v2 address of that kind, and NCCL "
                  "takes index 0",
              ipv6 ? "check the family too" : "correct it, or remove it");
    return;
  }
}

// Names that the network answers to; empty: unknown.
std::vector<std::string> network_names(const PluginView& plugin) {
  if (plugin.kind == PluginKind::kOfi) {
    const auto version = parse_nccl_version(plugin.plugin->version);
    // Older ones have the one name that has a blank in it.
    if (version && *version < NcclVersion{1, 13, 0}) return {"aws libfabric"};
    return {"aws libfabric", "libfabric", "ofi"};
  }
  if (plugin.plugin->network.empty()) return {};
  return {to_lower(plugin.plugin->network)};
}

void lint_net_name(FabricJob& job, FabricPodState& pod, const std::string& name,
                   const EffectiveValue& users) {
  const std::string wanted = to_lower(trim(users.value));
  if (name != "NCCL_NET" || wanted == "socket") return;
  std::string why;
  if (wanted == "ib") {
    if (!job.uses_libfabric()) return;
    why = "NCCL's InfiniBand code cannot use " +
          std::string(transport_name(job.transport));
  } else {
    if (!pod.facts->plugins || pod.absent != "") return;  // said elsewhere
    const auto loaded = loaded_plugin(*pod.facts);
    const auto names =
        loaded ? network_names(*loaded) : std::vector<std::string>{"ib"};
    if (names.empty() ||
        std::find(names.begin(), names.end(), wanted) != names.end()) {
      return;
    }
    why = loaded ? loaded->plugin->name + " answers to " + join(names, ", ")
                 : "no plugin is loaded that could be meant";
  }
  report(job, &pod,
         {Severity::kError, "lint_net_name",
          name + "=" + users.value + ": " + why +
              ", and NCCL stops where no network has that name",
          "NCCL guide, NCCL_NET",
          wanted == "gib" ? "mount /usr/local/gib as the vendor's nccl-gib "
                            "pages show, or remove it"
                          : "correct the name, or remove it"});
}

// How the value is read changed: since 2.21 a file's name too, since 2.27 a
// list, in which 2.27.3 mishandles paths.
void lint_plugin_form(FabricJob& job, FabricPodState& pod,
                      const std::string& value) {
  const NcclVersion version = pod.assumed_version();
  const bool path = value.find('/') != std::string::npos;
  if (path && version == NcclVersion{2, 27, 3}) {
    lint_warn(job, pod, "lint_plugin_path",
              "NCCL_NET_PLUGIN=" + value +
                  ": NCCL 2.27.3 does not load plugins by path",
              "use NCCL 2.27.5, or the name alone with its folder in "
              "LD_LIBRARY_PATH");
  }
  const bool list = value.find(',') != std::string::npos;
  const bool file = path || value.ends_with(".so");
  if ((list && version < NcclVersion{2, 27, 0}) ||
      (file && version < NcclVersion{2, 21, 0})) {
    lint_warn(job, pod, "lint_plugin_missing",
              "NCCL_NET_PLUGIN=" + value + ": NCCL " + version.text() +
                  (list ? " takes one name, no list"
                        : " takes the X of libnccl-net-X.so, no file") +
                  ", and goes on without a plugin",
              list ? "name one plugin" : "give the suffix only");
  }
}

void lint_plugin_name(FabricJob& job, FabricPodState& pod,
                      const std::string& name, const EffectiveValue& users) {
  if (name != "NCCL_NET_PLUGIN") return;
  lint_plugin_form(job, pod, users.value);
  const bool said =
      !pod.absent.empty() &&
      std::any_of(pod.ports.begin(), pod.ports.end(), [](auto& v) {
        return v.kind == LinkKind::kEfa || v.kind == LinkKind::kSlingshot;
      });
  if (!pod.facts->plugins || said) return;
  if (to_lower(trim(users.value)) == "none" || loaded_plugin(*pod.facts)) {
    return;
  }
  lint_warn(job, pod, "lint_plugin_missing",
            name + "=" + users.value +
                " is not in the image: NCCL goes on with its own InfiniBand "
                "code, or TCP, silently",
            "correct the name, or put the plugin into the image");
}

void lint_switches(FabricJob& job, FabricPodState& pod, const std::string& name,
                   const EffectiveValue& users) {
  if (name == "NCCL_IB_DISABLE" && switched_on(*pod.facts, name)) {
    const auto plugin = loaded_plugin(*pod.facts);
    const bool off = plugin && plugin->kind == PluginKind::kIbExt &&
                     switched_on(*pod.facts, "NCCL_IBEXT_DISABLE");
    if (plugin && !off) {
      lint_warn(job, pod, "lint_ib_disable_plugin",
                "NCCL_IB_DISABLE does not switch off the plugin " +
                    plugin->plugin->name,
                plugin->kind == PluginKind::kIbExt
                    ? "NCCL_IBEXT_DISABLE=1 or NCCL_NET=Socket does"
                    : "NCCL_NET=Socket does");
    }
  }
  if (name == "NCCL_IGNORE_NET_MISMATCH" && trim(users.value) == "1") {
    lint_warn(job, pod, "lint_net_mismatch",
              "NCCL_IGNORE_NET_MISMATCH=1 hides different adapters of two "
              "nodes, which hang later",
              "remove it; muster makes the pods agree");
  }
}

// An address of the family that the user requires, on the pods' interface.
void lint_socket_family(FabricJob& job, FabricPodState& pod,
                        const std::string& name, const EffectiveValue& users) {
  if (name != "NCCL_SOCKET_FAMILY" || pod.primary.name.empty()) return;
  const bool ipv6 = trim(users.value) == "AF_INET6";
  if (!ipv6 && trim(users.value) != "AF_INET") return;
  const FabricNetdev* netdev = find_netdev(*pod.facts, pod.primary.name);
  if (netdev == nullptr || netdev->addresses.empty()) return;
  const bool any = std::any_of(
      netdev->addresses.begin(), netdev->addresses.end(), [&](auto& address) {
        return (address.find(':') != std::string::npos) == ipv6;
      });
  if (any) return;
  report(job, &pod,
         {Severity::kError, "lint_socket_family",
          name + "=" + users.value + ": " + pod.primary.name +
              " has no such address, and NCCL finds no interface",
          join(netdev->addresses, ", "), "remove it"});
}

}  // namespace

void lint_network(FabricJob& job, FabricPodState& pod, const std::string& name,
                  const EffectiveValue& users) {
  lint_on_infiniband(job, pod, name);
  lint_without_verbs(job, pod, name);
  if (name == "NCCL_IB_GID_INDEX") {
    const bool scans = pod.assumed_version() >= kGidScan;
    lint_gid_index(job, pod, name, users.value, scans);
  }
  lint_gid_scan(job, pod, name, users);
  lint_net_name(job, pod, name, users);
  lint_plugin_name(job, pod, name, users);
  lint_switches(job, pod, name, users);
  lint_socket_family(job, pod, name, users);
}

}  // namespace muster
