// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/network/ports.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "fabric/facts/pci_distance.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/platform.h"

namespace muster {

namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// "Polling", "3: Disabled", "Sleep": no cable, or no other end.
bool is_unlinked(const std::string& phys_state) {
  const std::string state = to_lower(phys_state);
  for (const char* word : {"poll", "disabl", "sleep", "recovery"}) {
    if (state.find(word) != std::string::npos) return true;
  }
  return false;
}

// The forms of sysfs ("4: ACTIVE"), ibv_devinfo ("PORT_ACTIVE (4)"), ibstat
// ("Active") and people ("up").
bool is_active(const FabricPort& port) {
  if (port.state.empty()) return !is_unlinked(port.phys_state);
  const std::string state = to_lower(port.state);
  if (state.find("inactive") != std::string::npos) return false;
  for (const char* word : {"up", "linkup", "link_up", "link up", "4", "5"}) {
    if (state == word) return true;
  }
  return state.find("active") != std::string::npos;
}

// Why NCCL cannot work with an adapter that it takes; "" if it can.
std::string beyond_nccl(const FabricHca& hca, LinkKind kind,
                        const std::optional<NcclVersion>& version) {
  const std::string driver = to_lower(hca.driver);
  for (const char* only : {"cxgb", "iw_cxgb", "siw", "i40iw"}) {
    if (driver.starts_with(only)) return "iWARP, which NCCL cannot use";
  }
  if (yes(hca.iwarp)) return "in iWARP mode, which NCCL cannot use";
  if (kind == LinkKind::kRoce && driver.starts_with("irdma") && version &&
      *version < kLinkLayer) {
    return "it has a LID, and NCCL before 2.12.7 takes it for InfiniBand";
  }
  return "";
}

// Every entry that has an address is of another namespace.
bool all_gids_foreign(const PodFabric& pod, const FabricPort& port) {
  if (!port.gids || port.gids->empty()) return false;
  const bool any_readable =
      std::any_of(port.gids->begin(), port.gids->end(),
                  [](auto& gid) { return !no(gid.readable); });
  if (!any_readable) return true;
  bool any_foreign = false;
  for (const GidAddress kind :
       {GidAddress::kIpv4, GidAddress::kIpv6, GidAddress::kLinkLocal}) {
    if (!usable_gids(pod, port, kind).empty()) return false;
  }
  for (const FabricGid& gid : *port.gids) {
    if (gid_address(gid) == GidAddress::kNone) continue;
    any_foreign = any_foreign || no(gid.usable) ||
                  (!gid.netdev.empty() && gid.type == "v2");
  }
  return any_foreign;
}

std::string probe_failure(const FabricHca& hca) {
  std::string text = "the verbs probe failed";
  if (!hca.fails_at.empty()) text += " at step " + hca.fails_at;
  if (!hca.error.empty()) text += " (" + hca.error + ")";
  return text;
}

void judge(const PodFabric& pod, const std::optional<NcclVersion>& version,
           PortView& view) {
  const FabricHca& hca = *view.hca;
  const FabricPort& port = *view.port;
  const auto say = [&](const char* role, std::string reason) {
    view.role = role;
    view.reason = std::move(reason);
  };
  // Slingshot has devices of its own.
  const bool no_device = no(hca.device) || (!hca.device && no(pod.uverbs) &&
                                            view.kind != LinkKind::kSlingshot);
  const bool openable = hca.fails_at != "open" && !no_device;
  const bool active = is_active(port);
  view.nccl_sees =
      openable && active &&
      (view.kind == LinkKind::kInfiniBand || view.kind == LinkKind::kRoce ||
       view.kind == LinkKind::kUnknown);
  if (no_device) {
    say("not given", "its /dev/infiniband device is not in the pod");
  } else if (!active) {
    say("down", port.state.empty() ? "its link is " + port.phys_state
                                   : "port state is " + port.state);
  } else if (no(hca.usable) || !hca.fails_at.empty()) {
    say("unusable", probe_failure(hca));
  } else if (view.kind == LinkKind::kRoce && port.gids && port.gids->empty()) {
    say("foreign", "its GID table is empty: no interface of it is in the pod");
  } else if (view.kind == LinkKind::kRoce && all_gids_foreign(pod, port)) {
    say("foreign", "every GID belongs to another network namespace");
  } else if (const auto why = beyond_nccl(hca, view.kind, version);
             !why.empty()) {
    say("not for NCCL", why);
  } else if (contains(pod.dead_hcas, hca.name)) {
    say("unreachable", "it did not reach its peers");
  } else {
    view.usable = true;
    say("usable", "active");
  }
}

bool is_hgx_blackwell(const PodFabric& pod) {
  return pod.gpus &&
         std::any_of(pod.gpus->begin(), pod.gpus->end(), [](auto& gpu) {
           const auto has = [&](std::string_view word) {
             return gpu.name.find(word) != std::string::npos;
           };
           return (has("B200") && !has("GB200")) ||
                  (has("B300") && !has("GB300"));
         });
}

// The NVLink switches of HGX B200 and B300 are reached by a few ports that say
// InfiniBand (siderolabs/extensions#893). Beside EFA there is no InfiniBand
// network at all (aws/sagemaker-hyperpod-cli#282); beside RoCE, of which there
// is a port for every GPU, it is that of the switches.
void leave_out_bridges(const PodFabric& pod, std::vector<PortView>& ports) {
  constexpr long kMostBridges = 4;
  const auto count = [&](LinkKind kind) {
    return std::count_if(ports.begin(), ports.end(),
                         [&](auto& view) { return view.kind == kind; });
  };
  const long own = count(LinkKind::kInfiniBand);
  const bool efa = count(LinkKind::kEfa) > 0;
  const bool roce = is_hgx_blackwell(pod) && own <= kMostBridges &&
                    own * 2 <= count(LinkKind::kRoce);
  if (!efa && !roce) return;
  for (PortView& view : ports) {
    if (view.kind != LinkKind::kInfiniBand) continue;
    view.usable = false;
    view.role = "NVLink switch";
    view.reason = std::string("beside ") + (efa ? "EFA" : "a RoCE network") +
                  " an InfiniBand port belongs to the NVLink switches";
  }
}

// Azure's accelerated networking gives its machines a function of the host's
// card (mlx5_an0 in Azure's images). Verbs open it, but Azure does not offer
// RoCE between machines: RDMA there is InfiniBand (Azure/azhpc-images#327).
void leave_out_accelerated(const PodFabric& pod, std::vector<PortView>& ports) {
  const bool azure = platform_of(pod) == Platform::kAzure;
  for (PortView& view : ports) {
    const bool named = view.hca->name.starts_with("mlx5_an");
    const bool mellanox = view.hca->name.starts_with("mlx") ||
                          view.hca->driver.starts_with("mlx");
    if (view.kind != LinkKind::kRoce || !view.usable) continue;
    if (!named && !(azure && mellanox)) continue;
    view.usable = false;
    view.role = "front end";
    view.reason =
        "accelerated networking of Azure, between whose machines there is no "
        "RoCE";
  }
}

}  // namespace

std::string_view link_kind_name(LinkKind kind) {
  switch (kind) {
    case LinkKind::kInfiniBand:
      return "InfiniBand";
    case LinkKind::kRoce:
      return "RoCE";
    case LinkKind::kEfa:
      return "EFA";
    case LinkKind::kSlingshot:
      return "Slingshot";
    case LinkKind::kUnknown:
      break;
  }
  return "unknown";
}

std::string PortView::name() const {
  if (hca->ports.size() < 2) return hca->name;
  return hca->name + ":" + std::to_string(port->number);
}

namespace {

// The kernel's names, and those of rdma-core's udev rules: rocep… for RoCE,
// rdmap… for a link that is neither, which only EFA has. "ibp…" proves nothing:
// some sites call RoCE so.
LinkKind kind_by_name(const std::string& name) {
  for (const char* ethernet : {"rocep", "roce", "mlx5_bond", "irdma", "bnxt_re",
                               "erdma", "ionic", "rxe", "mana", "qedr"}) {
    if (name.starts_with(ethernet)) return LinkKind::kRoce;
  }
  for (const char* efa : {"efa", "rdmap"}) {
    if (name.starts_with(efa)) return LinkKind::kEfa;
  }
  if (name.starts_with("mlx5_ib") || name.starts_with("hfi1")) {
    return LinkKind::kInfiniBand;
  }
  return LinkKind::kUnknown;
}

// The kernel names an IPoIB interface ib0; udev names those of Ethernet.
LinkKind kind_by_netdev(const std::string& name) {
  for (const char* ethernet : {"eth", "en", "bond", "roce"}) {
    if (name.starts_with(ethernet)) return LinkKind::kRoce;
  }
  const bool numbered = name.size() > 2 && name[2] >= '0' && name[2] <= '9';
  return name.starts_with("ib") && numbered ? LinkKind::kInfiniBand
                                            : LinkKind::kUnknown;
}

}  // namespace

LinkKind link_kind(const FabricHca& hca, const FabricPort& port) {
  const std::string driver = to_lower(hca.driver);
  const std::string layer = to_lower(port.link_layer);
  if (driver == "cxi" || hca.name.starts_with("cxi")) {
    return LinkKind::kSlingshot;
  }
  if (driver == "efa" || layer == "unspecified" || layer == "efa") {
    return LinkKind::kEfa;
  }
  if (layer.starts_with("inf") || layer == "ib") return LinkKind::kInfiniBand;
  if (layer.starts_with("eth") || layer.starts_with("roce"))
    return LinkKind::kRoce;
  for (const char* ethernet :
       {"irdma", "bnxt_re", "erdma", "ionic", "rxe", "mana", "qedr"}) {
    if (driver.starts_with(ethernet)) return LinkKind::kRoce;
  }
  if (driver.starts_with("hfi1") || driver.starts_with("qib")) {
    return LinkKind::kInfiniBand;
  }
  if (driver.empty()) {
    const LinkKind named = kind_by_name(hca.name);
    if (named != LinkKind::kUnknown) return named;
  }
  if (port.gids && std::any_of(port.gids->begin(), port.gids->end(),
                               [](auto& gid) { return gid.type == "v2"; })) {
    return LinkKind::kRoce;
  }
  return kind_by_netdev(port.netdev);
}

namespace {

// "mlx5_" of mlx5_10.
std::string_view stem(std::string_view name) {
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

// A port without a known link layer takes that of most ports with a like name
// and the same rate.
LinkKind kind_of_likes(const std::vector<PortView>& ports,
                       const PortView& unknown) {
  std::map<LinkKind, int> likes;
  int all = 0;
  for (const PortView& view : ports) {
    if (stem(view.hca->name) != stem(unknown.hca->name) ||
        view.port->rate_gbps != unknown.port->rate_gbps) {
      continue;
    }
    ++likes[view.kind];
    ++all;
  }
  for (const auto& [kind, count] : likes) {
    if (count * 3 >= all * 2 && kind != LinkKind::kUnknown) return kind;
  }
  return LinkKind::kUnknown;
}

}  // namespace

bool is_link_layer(const std::string& word) {
  FabricPort port;
  port.link_layer = word;
  return link_kind(FabricHca{}, port) != LinkKind::kUnknown;
}

bool is_port_state(const std::string& word) {
  FabricPort port;
  port.state = word;
  if (is_active(port)) return true;
  const std::string state = to_lower(word);
  for (const char* known : {"down", "init", "arm", "poll", "disabl", "inactive",
                            "sleep", "nop", "unknown"}) {
    if (state.find(known) != std::string::npos) return true;
  }
  return parse_integer(state).has_value();
}

bool is_software(const FabricHca& hca) {
  return to_lower(hca.driver).starts_with("rxe") ||
         to_lower(hca.driver).starts_with("rdma_rxe") ||
         hca.name.starts_with("rxe");
}

const FabricHca* find_hca(const PodFabric& pod, std::string_view name) {
  if (!pod.hcas) return nullptr;
  for (const FabricHca& hca : *pod.hcas) {
    if (hca.name == name) return &hca;
  }
  return nullptr;
}

std::vector<PortView> view_ports(const PodFabric& pod,
                                 const std::optional<NcclVersion>& version) {
  std::vector<PortView> out;
  if (!pod.hcas) return out;
  for (const FabricHca& hca : *pod.hcas) {
    for (const FabricPort& port : hca.ports) {
      PortView view;
      view.hca = &hca;
      view.port = &port;
      view.kind = link_kind(hca, port);
      out.push_back(std::move(view));
    }
  }
  const std::vector<PortView> told = out;
  // Oracle's cluster networks are RoCE, all of them.
  const bool oracle = platform_of(pod) == Platform::kOci;
  for (PortView& view : out) {
    if (view.kind == LinkKind::kUnknown) view.kind = kind_of_likes(told, view);
    if (view.kind == LinkKind::kUnknown && oracle) view.kind = LinkKind::kRoce;
    judge(pod, version, view);
  }
  leave_out_bridges(pod, out);
  leave_out_accelerated(pod, out);
  return out;
}

std::string gbps_text(double rate) {
  return std::to_string(static_cast<int64_t>(rate)) + " Gb/s";
}

double total_rate(const std::vector<PortView>& ports, LinkKind kind) {
  double sum = 0;
  for (const PortView& view : ports) {
    if (view.usable && view.kind == kind && view.port->rate_gbps > 0) {
      sum += view.port->rate_gbps;
    }
  }
  return sum;
}

bool near_every_gpu(const PodFabric& pod, const std::vector<PortView>& ports,
                    LinkKind kind) {
  if (!pod.gpus) return false;
  bool known = false;
  for (const FabricGpu& gpu : *pod.gpus) {
    bool measured = false;
    bool near = false;
    for (const PortView& view : ports) {
      if (!view.usable || view.kind != kind) continue;
      const std::string path = gpu_distance(gpu, *view.hca);
      measured = measured || !path.empty();
      near = near || is_near(path);
    }
    if (measured && !near) return false;
    known = known || measured;
  }
  return known;
}

bool flat_topology(const PodFabric& pod, const std::vector<PortView>& ports) {
  if (!pod.gpus) return false;
  int pairs = 0;
  for (const FabricGpu& gpu : *pod.gpus) {
    for (const PortView& view : ports) {
      const std::string path = gpu_distance(gpu, *view.hca);
      if (path.empty() || is_near(path)) return false;
      ++pairs;
    }
  }
  return pairs > 1;
}

}  // namespace muster
