// SPDX-License-Identifier: Apache-2.0
// Which network the job uses: the fastest that works in every pod. A pod that
// has none takes all to TCP, because a job with mixed networks hangs
// (NVIDIA/nccl#234). Profile rdma refuses instead. Pure.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/name_list.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/network/shape_network.h"

namespace muster {

namespace {

constexpr std::array kByPreference = {
    FabricTransport::kInfiniBand, FabricTransport::kRoce, FabricTransport::kEfa,
    FabricTransport::kSlingshot, FabricTransport::kTcpx};

LinkKind link_of(FabricTransport transport) {
  switch (transport) {
    case FabricTransport::kInfiniBand:
      return LinkKind::kInfiniBand;
    case FabricTransport::kRoce:
      return LinkKind::kRoce;
    case FabricTransport::kEfa:
      return LinkKind::kEfa;
    case FabricTransport::kSlingshot:
      return LinkKind::kSlingshot;
    default:
      return LinkKind::kUnknown;
  }
}

// Some entry of the table, if known, is of this pod.
bool can_roce(const PodFabric& pod, const PortView& view) {
  if (!view.port->gids || view.port->gids->empty()) return true;
  for (const GidAddress kind :
       {GidAddress::kIpv4, GidAddress::kIpv6, GidAddress::kLinkLocal}) {
    if (!usable_gids(pod, *view.port, kind).empty()) return true;
  }
  return std::any_of(
      view.port->gids->begin(), view.port->gids->end(), [](auto& gid) {
        return gid.type == "v1" && !no(gid.readable) && !no(gid.usable) &&
               gid_address(gid) != GidAddress::kNone;
      });
}

// An image without a list of plugins may well have the right one; so may an
// image with an unidentified libnccl-net.so.
bool may_have_ofi(const FabricPodState& state) {
  const PodFabric& pod = *state.facts;
  const auto loaded = loaded_plugin(pod);
  const auto found = find_ofi_plugin(pod);
  const bool works =
      found && !(state.version && is_too_old(*found, *state.version));
  const bool may_be =
      !pod.plugins || works || (loaded && loaded->kind == PluginKind::kUnknown);
  return state.mpi_only() || (may_be && !kept_out(pod, PluginKind::kOfi));
}

std::set<FabricTransport> offers_of(const FabricPodState& state) {
  std::set<FabricTransport> out;
  const PodFabric& pod = *state.facts;
  const bool ofi = may_have_ofi(state);
  for (const PortView& view : state.ports) {
    if (!view.usable) continue;
    if (view.kind == LinkKind::kInfiniBand)
      out.insert(FabricTransport::kInfiniBand);
    if (view.kind == LinkKind::kRoce && can_roce(pod, view)) {
      out.insert(FabricTransport::kRoce);
    }
    if (view.kind == LinkKind::kEfa && ofi) out.insert(FabricTransport::kEfa);
    if (view.kind == LinkKind::kSlingshot && ofi) {
      out.insert(FabricTransport::kSlingshot);
    }
  }
  const bool gcp =
      state.platform == Platform::kGcp || state.platform == Platform::kNone;
  if (gcp && out.empty() && find_plugin(pod, PluginKind::kTcpx)) {
    out.insert(FabricTransport::kTcpx);
  }
  return out;
}

// The facts lack the adapters, and the machine is one with a published network.
// Whether a plugin for it is in the image counts as ever.
void take_published(FabricPodState& state) {
  const PodFabric& pod = *state.facts;
  if (pod.hcas || pod.pci_hcas || no(pod.uverbs) || !state.offers.empty()) {
    return;
  }
  const auto network = network_of_shape(pod);
  if (!network) return;
  if (network == FabricTransport::kEfa && !may_have_ofi(state)) return;
  // Its plugin offered it.
  if (network == FabricTransport::kTcpx && pod.plugins) return;
  state.offers.insert(*network);
  state.by_shape = true;
}

// NCCL's own code finds no adapter with the user's list.
bool list_matches_nothing(const FabricPodState& state) {
  const auto users = effective(*state.facts, "NCCL_IB_HCA");
  if (!users) return false;
  const NameList list = parse_name_list(users->value);
  bool any = false;
  for (const PortView& view : state.ports) {
    if (!view.nccl_sees) continue;
    if (admits(list, view.hca->name, view.port->number)) return false;
    any = true;
  }
  return any;
}

// The user's variable that does it; "" if none.
std::string rules_rdma_out(const FabricPodState& state) {
  const PodFabric& pod = *state.facts;
  const auto net = effective(pod, "NCCL_NET");
  if (net) return to_lower(net->value) == "socket" ? "NCCL_NET" : "";
  const auto plugin = loaded_plugin(pod);
  // IBext that is switched off leaves NCCL's own code, which comes next.
  const bool passed_over = plugin && (plugin->kind == PluginKind::kFastSocket ||
                                      (plugin->kind == PluginKind::kIbExt &&
                                       switched_on(pod, "NCCL_IBEXT_DISABLE")));
  if (plugin && !passed_over) return "";
  if (switched_on(pod, "NCCL_IB_DISABLE")) return "NCCL_IB_DISABLE";
  return list_matches_nothing(state) ? "NCCL_IB_HCA" : "";
}

// Compares networks by their rates only if all ports have one.
bool all_rates_known(const std::vector<PortView>& ports) {
  return std::all_of(ports.begin(), ports.end(), [](auto& view) {
    return !view.usable || view.port->rate_gbps > 0;
  });
}

// The ports without a known network outnumber and outrun those of each known
// one, which may be a front end only.
bool only_unknown_ports(const FabricPodState& state) {
  std::map<LinkKind, std::pair<double, int>> networks;  // rate, ports
  const bool rates = all_rates_known(state.ports);
  for (const PortView& view : state.ports) {
    if (!view.usable) continue;
    auto& [rate, ports] = networks[view.kind];
    if (rates) rate += view.port->rate_gbps;
    ++ports;
  }
  const auto unknown = networks.find(LinkKind::kUnknown);
  if (unknown == networks.end()) return false;
  if (state.offers.empty()) return true;
  return std::all_of(networks.begin(), networks.end(), [&](auto& network) {
    return network.second <= unknown->second;
  });
}

// Near every GPU, the slowest pod's rate, the poorest pod's ports.
using Score = std::tuple<bool, double, long>;

// Comparable over pods: near every GPU first, then the slowest pod's rate,
// then, without known rates, the number of ports of the poorest pod. Ports that
// the plan would leave out, front ends and the like, do not count.
Score score(const FabricJob& job, FabricTransport transport) {
  bool near = true;
  double slowest = 1e12;
  long fewest = 1 << 20;
  const LinkKind kind = link_of(transport);
  for (const FabricPodState& pod : job.pods) {
    near = near && near_every_gpu(*pod.facts, pod.ports, kind);
    std::vector<PortView> ports = pod.ports;
    choose_ports(*pod.facts, kind, ports);
    std::erase_if(ports, [](auto& view) { return !view.chosen; });
    const bool rates = all_rates_known(pod.ports);
    slowest = std::min(slowest, rates ? total_rate(ports, kind) : 0);
    fewest = std::min(fewest, static_cast<long>(ports.size()));
  }
  return {near, slowest, fewest};
}

std::string why_it_lost(const Score& lost, FabricTransport best,
                        const Score& won) {
  const auto& [near, rate, ports] = lost;
  const auto& [best_near, best_rate, best_ports] = won;
  const std::string name(transport_name(best));
  if (near != best_near) return "far from some GPU, and " + name + " is not";
  if (rate != best_rate) {
    return gbps_text(rate) + " per pod, and " + name + " has " +
           gbps_text(best_rate);
  }
  if (ports != best_ports) return "fewer ports than " + name;
  return "as good as " + name + ", which comes first";
}

FabricTransport best_common(FabricJob& job) {
  FabricTransport best = FabricTransport::kTcp;
  Score best_score;
  std::vector<std::pair<FabricTransport, Score>> tried;
  for (const FabricTransport transport : kByPreference) {
    const bool everywhere =
        std::all_of(job.pods.begin(), job.pods.end(),
                    [&](auto& pod) { return pod.offers.contains(transport); });
    if (!everywhere) continue;
    const auto now = score(job, transport);
    tried.emplace_back(transport, now);
    if (best == FabricTransport::kTcp || now > best_score) {
      best = transport;
      best_score = now;
    }
  }
  for (const auto& [transport, lost] : tried) {
    if (transport == best) continue;
    job.transport_rejected.push_back(std::string(transport_name(transport)) +
                                     ": " +
                                     why_it_lost(lost, best, best_score));
  }
  return best;
}

void report_mixed(FabricJob& job) {
  std::vector<std::string> parts;
  for (const FabricPodState& pod : job.pods) {
    std::vector<std::string> names;
    for (const FabricTransport offer : pod.offers) {
      names.emplace_back(transport_name(offer));
    }
    parts.push_back(pod.plan.name + ": " +
                    (names.empty() ? "none" : join(names, ", ")));
    if (parts.size() == 8) break;
  }
  const bool required = job.profile == Profile::kRdma;
  report(job, nullptr,
         {required ? Severity::kError : Severity::kWarning, "no_common_fabric",
          "the pods have no RDMA network in common" +
              std::string(required ? "" : "; all of them use TCP"),
          join(parts, "; "),
          "run the job on nodes of one kind, or give every pod its adapters"});
}

}  // namespace

void choose_transport(FabricJob& job) {
  bool any_unknown = false;
  bool any_none = false;
  bool all_by_user = !job.pods.empty();
  for (FabricPodState& pod : job.pods) {
    pod.offers = offers_of(pod);
    if (job.pods.size() > 1) take_published(pod);
    const bool unseen = !pod.facts->hcas && !no(pod.facts->uverbs) &&
                        !pod.facts->pci_hcas && pod.offers.empty();
    pod.unknown = unseen || only_unknown_ports(pod);
    pod.ruled_out_by = rules_rdma_out(pod);
    pod.tcp_by_user = !pod.ruled_out_by.empty();
    any_unknown = any_unknown || pod.unknown;
    any_none =
        any_none || pod.tcp_by_user || (pod.offers.empty() && !pod.unknown);
    all_by_user = all_by_user && pod.tcp_by_user;
  }
  if (job.profile == Profile::kTcp || all_by_user) {
    job.transport = FabricTransport::kTcp;
  } else if (any_none) {
    job.transport = FabricTransport::kTcp;
  } else if (any_unknown) {
    job.transport = FabricTransport::kUnknown;
  } else {
    job.transport = best_common(job);
    if (job.transport == FabricTransport::kTcp) report_mixed(job);
  }
  const LinkKind kind = link_of(job.transport);
  for (FabricPodState& pod : job.pods) {
    if (kind != LinkKind::kUnknown) choose_ports(*pod.facts, kind, pod.ports);
  }
}

}  // namespace muster
