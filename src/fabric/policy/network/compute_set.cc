// SPDX-License-Identifier: Apache-2.0
// choose_ports(): leaves out the front end of a RoCE machine, and InfiniBand of
// storage: of another subnet, slower, or named so by the maker. Otherwise takes
// all InfiniBand, EFA and Slingshot ports: NCCL or the plugin chooses among
// them, rightly if every port is on the fabric. Pure.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>

#include "fabric/facts/pci_distance.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/ports.h"
#include "fabric/policy/network/published_machines.h"
#include "fabric/policy/network/sockets.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 2> kCloudDrivers = {"erdma", "mana"};

bool global_gid(const PodFabric& pod, const FabricPort& port) {
  return !usable_gids(pod, port, GidAddress::kIpv4).empty() ||
         !usable_gids(pod, port, GidAddress::kIpv6).empty();
}

bool near_some_gpu(const PodFabric& pod, const FabricHca& hca) {
  if (is_near(hca.gpu_path)) return true;
  if (!pod.gpus) return false;
  return std::any_of(pod.gpus->begin(), pod.gpus->end(), [&](auto& gpu) {
    return is_near(gpu_distance(gpu, hca));
  });
}

bool distance_known(const PodFabric& pod, const FabricHca& hca) {
  if (!hca.gpu_path.empty()) return true;
  return pod.gpus &&
         std::any_of(pod.gpus->begin(), pod.gpus->end(), [&](auto& gpu) {
           return !gpu_distance(gpu, hca).empty();
         });
}

// GPUs that have a near port among the chosen ones.
int covered_gpus(const PodFabric& pod, const std::vector<PortView>& ports) {
  if (!pod.gpus) return 0;
  int count = 0;
  for (const FabricGpu& gpu : *pod.gpus) {
    count += std::any_of(ports.begin(), ports.end(), [&](auto& view) {
      return view.chosen && is_near(gpu_distance(gpu, *view.hca));
    });
  }
  return count;
}

int chosen_count(const std::vector<PortView>& ports) {
  return static_cast<int>(std::count_if(
      ports.begin(), ports.end(), [](auto& view) { return view.chosen; }));
}

double median_rate(const std::vector<PortView>& ports) {
  std::vector<double> rates;
  for (const PortView& view : ports) {
    if (view.chosen && view.port->rate_gbps > 0) {
      rates.push_back(view.port->rate_gbps);
    }
  }
  if (rates.empty()) return 0;
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

// Drops the ports that `unwanted` names, if some remain and no GPU loses its
// last near port.
template <class Unwanted>
void drop(const PodFabric& pod, std::vector<PortView>& ports, const char* role,
          const char* reason, Unwanted unwanted) {
  std::vector<PortView> kept = ports;
  for (PortView& view : kept) {
    if (!view.chosen || !unwanted(view)) continue;
    view.chosen = false;
    view.role = role;
    view.reason = reason;
  }
  if (chosen_count(kept) == 0) return;
  if (covered_gpus(pod, kept) < covered_gpus(pod, ports)) return;
  ports = std::move(kept);
}

// "fe80:0000:0000:0000" of an InfiniBand port; "" if unknown.
std::string subnet_prefix(const FabricPort& port) {
  if (!port.gids || port.gids->empty()) return "";
  const std::string& gid = port.gids->front().gid;
  std::string_view rest = gid;
  int groups = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == ':' && ++groups == 4) return gid.substr(0, i);
  }
  return gid.substr(0, gid.find("::"));
}

// InfiniBand of storage beside that of the GPUs: a subnet that a few ports
// are in, while more than half are in one. Rails that are a subnet each stay.
void drop_other_subnet(const PodFabric& pod, std::vector<PortView>& ports) {
  std::map<std::string, int> count;
  int known = 0;
  for (const PortView& view : ports) {
    const std::string prefix = subnet_prefix(*view.port);
    if (!view.chosen || prefix.empty()) continue;
    ++count[prefix];
    ++known;
  }
  for (const auto& most : count) {
    if (most.second * 2 <= known || most.second == known) continue;
    const std::string& kept = most.first;
    drop(pod, ports, "other subnet",
         "it is in another InfiniBand subnet than most ports",
         [&](const PortView& view) {
           const std::string prefix = subnet_prefix(*view.port);
           return !prefix.empty() && prefix != kept;
         });
  }
}

// A cloud's own adapters are functions of the network cards that its machines
// have anyway: all of them are the fabric.
bool is_of_the_cloud(const FabricHca& hca) {
  return std::any_of(kCloudDrivers.begin(), kCloudDrivers.end(), [&](auto it) {
    return hca.driver.starts_with(it) || hca.name.starts_with(it);
  });
}

// RDMA in software, and a cloud's own adapters, beside real ones.
void drop_substitutes(const PodFabric& pod, std::vector<PortView>& ports) {
  drop(pod, ports, "substitute",
       "it is not a real adapter, and there are real ones",
       [](const PortView& view) {
         return is_software(*view.hca) || is_of_the_cloud(*view.hca);
       });
}

void drop_front_end(const PodFabric& pod, std::vector<PortView>& ports) {
  const std::string primary = primary_interface(pod).name;
  drop(pod, ports, "front end",
       "its interface carries the pod's own network or the default route",
       [&](const PortView& view) {
         if (is_of_the_cloud(*view.hca)) return false;
         const std::string name = port_netdev(pod, *view.port);
         if (name.empty()) return false;
         const FabricNetdev* netdev = find_netdev(pod, name);
         return name == primary ||
                (netdev != nullptr && yes(netdev->default_route));
       });
}

// Storage and management beside the fabric: below half of the median, or just
// half of what most ports have (two of 200 beside eight of 400 Gb/s).
void drop_slow(const PodFabric& pod, std::vector<PortView>& ports) {
  const double half = median_rate(ports) / 2;
  const auto with = [&](auto test) {
    return std::count_if(ports.begin(), ports.end(), [&](auto& view) {
      return view.chosen && test(view.port->rate_gbps);
    });
  };
  const auto all = with([](double) { return true; });
  const auto fast = with([&](double rate) { return rate > half; });
  const bool clear = fast * 2 > all && fast > 1;
  drop(pod, ports, "slow", "it has at most half of the others' rate",
       [&](const PortView& view) {
         const double rate = view.port->rate_gbps;
         return rate > 0 && (rate < half || (clear && rate <= half));
       });
}

// The same of InfiniBand, where a slow port may just as well be a link that
// was trained badly: as many are fast as a machine has by design.
void drop_slow_extra(const PodFabric& pod, std::vector<PortView>& ports) {
  const double half = median_rate(ports) / 2;
  const auto is_slow = [&](const PortView& view) {
    return view.port->rate_gbps > 0 && view.port->rate_gbps <= half;
  };
  int slow = 0;
  for (const PortView& view : ports) slow += view.chosen && is_slow(view);
  const auto fast = static_cast<unsigned>(chosen_count(ports) - slow);
  if (fast < 2 || !std::has_single_bit(fast)) return;
  drop(pod, ports, "slow", "it has at most half of the others' rate", is_slow);
}

void drop_unpublished(const PodFabric& pod, std::vector<PortView>& ports) {
  const auto names = published_adapters(pod);
  if (names.empty()) return;
  drop(pod, ports, "not of the fabric",
       "the maker of this machine names others for the GPUs",
       [&](const PortView& view) {
         return std::find(names.begin(), names.end(), view.hca->name) ==
                names.end();
       });
}

}  // namespace

void choose_ports(const PodFabric& pod, LinkKind kind,
                  std::vector<PortView>& ports) {
  for (PortView& view : ports) {
    view.chosen = view.usable && view.kind == kind;
    if (view.chosen) {
      view.role = "compute";
      view.reason = "active " + std::string(link_kind_name(kind)) + " port";
    } else if (view.usable) {
      view.role = "other network";
      view.reason = std::string(link_kind_name(view.kind)) + ", the job uses " +
                    std::string(link_kind_name(kind));
    }
  }
  if (kind == LinkKind::kInfiniBand) {
    drop_other_subnet(pod, ports);
    drop_slow_extra(pod, ports);
    drop_unpublished(pod, ports);
  }
  if (kind != LinkKind::kRoce) return;
  drop_substitutes(pod, ports);
  drop_front_end(pod, ports);
  drop(pod, ports, "no address", "it has no routable RoCE v2 GID",
       [&](const PortView& view) {
         return view.port->gids && !global_gid(pod, *view.port);
       });
  // Again while it helps: management first, then storage.
  for (int left = 0; left != chosen_count(ports);) {
    left = chosen_count(ports);
    drop_slow(pod, ports);
  }
  if (std::any_of(ports.begin(), ports.end(), [&](auto& view) {
        return view.chosen && near_some_gpu(pod, *view.hca);
      })) {
    drop(pod, ports, "far", "no GPU is near it while other ports are near",
         [&](const PortView& view) {
           return distance_known(pod, *view.hca) &&
                  !near_some_gpu(pod, *view.hca);
         });
  }
  drop_unpublished(pod, ports);
}

}  // namespace muster
