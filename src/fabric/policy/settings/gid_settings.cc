// SPDX-License-Identifier: Apache-2.0
// RoCE address choice per NCCL version: leaves the scan alone if it finds a
// usable entry on every port; else an address family, a range, and only at last
// an index, which switches the scan off for all adapters of a process. Source:
// NCCL src/transport/net_ib/connect.cc; networking troubleshooting page of the
// NCCL guide; NVIDIA/nccl#718, #890, #1573. Pure.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/gids.h"

namespace muster {

namespace {

constexpr const char* kSource = "NCCL net_ib/connect.cc";

// Entries without a type (a person's list of addresses) decide nothing.
bool has_table(const FabricPort& port) {
  return port.gids && std::any_of(port.gids->begin(), port.gids->end(),
                                  [](auto& gid) { return !gid.type.empty(); });
}

bool any_table(const FabricPodState& pod) {
  return std::any_of(pod.ports.begin(), pod.ports.end(), [](auto& view) {
    return view.chosen && has_table(*view.port);
  });
}

bool contains(const std::vector<const FabricGid*>& list, const FabricGid* gid) {
  return std::find(list.begin(), list.end(), gid) != list.end();
}

// If the port has nothing better, an IPv4 address of 169.254 will do: NCCL
// takes it, and peers on the same cable reach it.
bool lands_on_link_local(const FabricPodState& pod, const PortView& view,
                         const FabricGid* gid) {
  return gid != nullptr && is_ipv4_link_local(*gid) && gid->type == "v2" &&
         contains(usable_gids(*pod.facts, *view.port, GidAddress::kLinkLocal),
                  gid) &&
         usable_gids(*pod.facts, *view.port, GidAddress::kIpv4).empty();
}

// NCCL's own scan ends at a usable v2 entry on every chosen port.
bool scan_works(const FabricPodState& pod, bool ipv6) {
  const auto kind = ipv6 ? GidAddress::kIpv6 : GidAddress::kIpv4;
  for (const PortView& view : pod.ports) {
    if (!view.chosen || !has_table(*view.port)) continue;
    const GidScan scan = nccl_gid(pod.assumed_version(), *view.port, ipv6);
    const auto usable = usable_gids(*pod.facts, *view.port, kind);
    if (scan.aborts) return false;
    if (!contains(usable, scan.gid) &&
        (ipv6 || !lands_on_link_local(pod, view, scan.gid))) {
      return false;
    }
  }
  return true;
}

bool has_on_every_port(const FabricPodState& pod, GidAddress kind) {
  return std::all_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
    return !view.chosen || !has_table(*view.port) ||
           !usable_gids(*pod.facts, *view.port, kind).empty();
  });
}

struct IndexChoice {
  int index = -1;
  GidAddress kind = GidAddress::kNone;
  int ports = 0;  // on how many it is right
};

// The index that is right on most ports; IPv4 before IPv6 before link-local.
IndexChoice best_index(const FabricPodState& pod) {
  IndexChoice best;
  for (const GidAddress kind :
       {GidAddress::kIpv4, GidAddress::kIpv6, GidAddress::kLinkLocal}) {
    std::map<int, int> votes;
    for (const PortView& view : pod.ports) {
      if (!view.chosen || !has_table(*view.port)) continue;
      for (const FabricGid* gid : usable_gids(*pod.facts, *view.port, kind)) {
        ++votes[gid->index];
      }
    }
    for (const auto& [index, count] : votes) {
      const bool better_kind = best.kind == GidAddress::kNone ||
                               (best.kind != GidAddress::kLinkLocal &&
                                kind != GidAddress::kLinkLocal);
      if (count > best.ports && (better_kind || best.ports == 0)) {
        best = {index, kind, count};
      }
    }
  }
  return best;
}

// With a user's index there is no scan that a family could steer.
bool scans(const FabricPodState& pod) {
  const auto users = effective(*pod.facts, "NCCL_IB_GID_INDEX");
  return !users || parse_integer(trim(users->value)).value_or(-1) < 0;
}

bool index_needed(const FabricPodState& pod) {
  if (!any_table(pod) || scan_works(pod, false)) return false;
  return pod.assumed_version() < kGidScan || !scan_works(pod, true);
}

void keep_ports_with(FabricPodState& pod, int index) {
  for (PortView& view : pod.ports) {
    if (!view.chosen || !has_table(*view.port)) continue;
    bool right = false;
    for (const GidAddress kind :
         {GidAddress::kIpv4, GidAddress::kIpv6, GidAddress::kLinkLocal}) {
      for (const FabricGid* gid : usable_gids(*pod.facts, *view.port, kind)) {
        right = right || gid->index == index;
      }
    }
    if (right) continue;
    view.chosen = false;
    view.role = "other GID";
    view.reason = "GID index " + std::to_string(index) +
                  " is wrong here, and NCCL has one index for all adapters";
  }
}

std::string evidence(const FabricPodState& pod) {
  for (const PortView& view : pod.ports) {
    if (!view.chosen || !has_table(*view.port)) continue;
    const GidScan scan = nccl_gid(pod.assumed_version(), *view.port);
    std::string text = view.name() + ": NCCL " + pod.assumed_version().text() +
                       " would take index " + std::to_string(scan.index);
    if (scan.gid != nullptr) text += " (" + gid_text(*scan.gid) + ")";
    return scan.aborts ? view.name() +
                             ": an entry of another namespace gives "
                             "EINVAL, which this version does not "
                             "survive"
                       : text;
  }
  return "";
}

void report_link_local(FabricJob& job, const FabricPodState& pod) {
  report(job, &pod,
         {Severity::kWarning, "gid_link_local",
          "its RoCE ports have link-local addresses only: they reach peers "
          "inside one layer-2 network, and nothing behind a router",
          evidence(pod), "give the interfaces IP addresses"});
}

void set_index(FabricJob& job, FabricPodState& pod) {
  const IndexChoice best = best_index(pod);
  if (best.index < 0) {
    report(job, &pod,
           {Severity::kWarning, "gid_v1_only",
            "its ports have no usable RoCE v2 address: RoCE v1 works inside "
            "one layer-2 network only",
            evidence(pod), "give the interfaces IP addresses"});
    return;
  }
  const NcclVersion version = pod.assumed_version();
  FabricSetting setting{"NCCL",
                        "NCCL_IB_GID_INDEX",
                        std::to_string(best.index),
                        version < kGidScan
                            ? "NCCL before 2.21 does not look for the RoCE v2 "
                              "address: it takes index 0"
                            : "the scan of this version does not end at an "
                              "address that this pod can use",
                        evidence(pod),
                        FabricConfidence::kLikely,
                        kSource};
  setting.alone = version < kGidScan ? "index 0" : "scan";
  setting.rejected = {"one index for all pods: tables differ between pods",
                      "leave: see reason"};
  propose(job, pod, setting);
  if (best.kind == GidAddress::kLinkLocal) report_link_local(job, pod);
}

// Peers that have such an address themselves are near enough.
void check_link_local(FabricJob& job, const FabricPodState& pod) {
  FabricGid peers;
  peers.gid = bare_address(pod.facts->peer_address);
  if (is_ipv4_link_local(peers)) return;
  for (const PortView& view : pod.ports) {
    if (!view.chosen || !has_table(*view.port)) continue;
    const GidScan scan = nccl_gid(pod.assumed_version(), *view.port);
    if (lands_on_link_local(pod, view, scan.gid)) {
      return report_link_local(job, pod);
    }
  }
}

void set_family(FabricJob& job, FabricPodState& pod) {
  FabricSetting setting{"NCCL",
                        "NCCL_IB_ADDR_FAMILY",
                        "AF_INET6",
                        "the RoCE ports have IPv6 addresses only, and NCCL "
                        "looks for IPv4",
                        evidence(pod),
                        FabricConfidence::kLikely,
                        kSource};
  setting.alone = "AF_INET: index 0 stays";
  setting.rejected = {
      "an index: differs between pods and switches the scan "
      "off"};
  propose(job, pod, setting);
}

// A range that holds an address of every chosen port of every pod, if NCCL's
// own first choice would differ between networks.
std::string common_range(const FabricJob& job, int bits) {
  std::map<std::string, int> own_choice;  // range -> ports that choose it
  int ports = 0;
  for (const FabricPodState& pod : job.pods) {
    if (pod.assumed_version() < kGidScan) return "";  // has no range
    for (const PortView& view : pod.ports) {
      if (!view.chosen) continue;
      if (!has_table(*view.port)) return "";
      ++ports;
      const GidScan scan = nccl_gid(pod.assumed_version(), *view.port);
      if (scan.gid != nullptr) ++own_choice[gid_network(*scan.gid, bits)];
    }
  }
  std::string best;
  for (const auto& choice : own_choice) {
    const std::string& range = choice.first;
    const int count = choice.second;
    if (range.empty() || count == ports) continue;
    const auto inside = [&](const FabricPodState& pod, const PortView& view) {
      const auto list = usable_gids(*pod.facts, *view.port, GidAddress::kIpv4);
      return std::any_of(list.begin(), list.end(), [&](auto* gid) {
        return address_in(gid->gid, range);
      });
    };
    bool all = true;
    for (const FabricPodState& pod : job.pods) {
      for (const PortView& view : pod.ports) {
        all = all && (!view.chosen || inside(pod, view));
      }
    }
    if (all && (best.empty() || count > own_choice[best])) best = range;
  }
  return best;
}

void set_range(FabricJob& job) {
  for (const int bits : {24, 16}) {
    const std::string range = common_range(job, bits);
    if (range.empty()) continue;
    for (FabricPodState& pod : job.pods) {
      if (pod.assumed_version() < kGidScan || !scans(pod)) continue;
      FabricSetting setting{
          "NCCL",
          "NCCL_IB_ADDR_RANGE",
          range,
          "ports have addresses in several networks and NCCL takes the first; "
          "this network is common to all",
          evidence(pod),
          FabricConfidence::kLikely,
          kSource};
      setting.alone = "first RoCE v2 address of each port";
      setting.rejected = {"an index: not the same in all pods"};
      propose(job, pod, setting);
    }
    return;
  }
}

// An unknown version counts as a new one; an old one would need more.
void note_old_version(FabricJob& job, FabricPodState& pod) {
  if (pod.version || pod.mpi_only() ||
      effective(*pod.facts, "NCCL_IB_GID_INDEX")) {
    return;
  }
  const IndexChoice best = best_index(pod);
  if (best.index < 1) return;
  report(job, &pod,
         {Severity::kInfo, "nccl_version_unknown",
          "the NCCL version is not known; before 2.21 it would need "
          "NCCL_IB_GID_INDEX=" +
              std::to_string(best.index),
          "", "give the version with --nccl"});
}

}  // namespace

void choose_gids(FabricJob& job) {
  if (job.transport != FabricTransport::kRoce) return;
  for (FabricPodState& pod : job.pods) {
    if (pod.mpi_only()) continue;  // UCX takes an address of each port
    if (effective(*pod.facts, "NCCL_IB_GID_INDEX")) continue;
    if (!index_needed(pod)) continue;
    const IndexChoice best = best_index(pod);
    if (best.index >= 0) keep_ports_with(pod, best.index);
  }
}

void set_gids(FabricJob& job) {
  if (job.transport != FabricTransport::kRoce) return;
  for (FabricPodState& pod : job.pods) note_old_version(job, pod);
  const bool all_ipv6 = std::all_of(
      job.pods.begin(), job.pods.end(),
      [](auto& pod) { return has_on_every_port(pod, GidAddress::kIpv6); });
  bool some_need_ipv6 = false;
  for (const FabricPodState& pod : job.pods) {
    some_need_ipv6 = some_need_ipv6 || (any_table(pod) && !index_needed(pod) &&
                                        !scan_works(pod, false));
  }
  for (FabricPodState& pod : job.pods) {
    if (!any_table(pod)) {
      const bool by_user =
          effective(*pod.facts, "NCCL_IB_GID_INDEX").has_value();
      if (pod.assumed_version() < kGidScan && !by_user) {
        report(job, &pod,
               {Severity::kWarning, "gid_unknown",
                "NCCL " + pod.assumed_version().text() +
                    " takes GID index 0 (RoCE v1), and the facts hold no GID "
                    "table to find the right one",
                "", "run `muster fabric show` in the pod, or use NCCL 2.21"});
      }
    } else if (index_needed(pod)) {
      set_index(job, pod);
    } else if (!scan_works(pod, false) || (some_need_ipv6 && all_ipv6)) {
      if (scans(pod)) set_family(job, pod);
    } else if (!effective(*pod.facts, "NCCL_IB_GID_INDEX")) {
      check_link_local(job, pod);
    }
  }
  if (!some_need_ipv6) set_range(job);
}

}  // namespace muster
