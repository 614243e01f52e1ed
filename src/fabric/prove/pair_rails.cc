// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/pair_rails.h"

#include <algorithm>
#include <array>

#include "fabric/facts/name_list.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/ports.h"
#include "job/json_fields.h"

namespace muster {

namespace {

int first_gid(const PodFabric& pod, const FabricPort& port, GidAddress kind) {
  const auto usable = usable_gids(pod, port, kind);
  return usable.empty() ? -1 : usable.front()->index;
}

// Whether there is any.
bool find_gids(const PodFabric& pod, const FabricPort& port, RailEnd& end) {
  end.ipv4_gid = first_gid(pod, port, GidAddress::kIpv4);
  end.ipv6_gid = first_gid(pod, port, GidAddress::kIpv6);
  end.link_local_gid = first_gid(pod, port, GidAddress::kLinkLocal);
  return end.ipv4_gid >= 0 || end.ipv6_gid >= 0 || end.link_local_gid >= 0;
}

// In the order of preference.
constexpr std::array<int RailEnd::*, 3> kGidKinds = {
    &RailEnd::ipv4_gid, &RailEnd::ipv6_gid, &RailEnd::link_local_gid};

int best_kind(const RailEnd& end) {
  int kind = 0;
  for (const auto index : kGidKinds) {
    if (end.*index >= 0) return kind;
    ++kind;
  }
  return kind;
}

void agree_on_gids(RailEnd& mine, RailEnd& theirs) {
  if (!mine.ethernet || !theirs.ethernet) return;
  for (const auto index : kGidKinds) {
    if (mine.*index < 0 || theirs.*index < 0) continue;
    mine.gid_index = mine.*index;
    theirs.gid_index = theirs.*index;
    return;
  }
  RailEnd& poor = best_kind(mine) > best_kind(theirs) ? mine : theirs;
  RailEnd& rich = &poor == &mine ? theirs : mine;
  poor.gid_index = -1;
  const int kind = best_kind(rich);
  rich.gid_index = kind < 3 ? rich.*kGidKinds[static_cast<size_t>(kind)] : -1;
}

template <class Writer, class End>
void visit(Writer& out, End& end) {
  out.required("hca", end.hca);
  out.required("port", end.port);
  out.field("gid_index", end.gid_index);
  out.field("ipv4_gid", end.ipv4_gid);
  out.field("ipv6_gid", end.ipv6_gid);
  out.field("link_local_gid", end.link_local_gid);
  out.field("ethernet", end.ethernet);
  out.field("mtu", end.mtu);
  out.field("rate_gbps", end.rate_gbps);
}

}  // namespace

RailList rails_of(const PodFabric& pod) {
  RailList out;
  if (!pod.hcas) return out;
  const auto user = pod.environment.find("NCCL_IB_HCA");
  const NameList wanted =
      parse_name_list(user == pod.environment.end() ? "" : user->second);
  std::vector<PortView> ports = view_ports(pod);
  LinkKind kind = LinkKind::kRoce;
  for (const PortView& view : ports) {
    if (view.usable && view.kind == LinkKind::kInfiniBand) kind = view.kind;
  }
  choose_ports(pod, kind, ports);
  const bool any_chosen = std::any_of(ports.begin(), ports.end(),
                                      [](auto& view) { return view.chosen; });
  for (const PortView& view : ports) {
    if (!admits(wanted, view.hca->name, view.port->number)) continue;
    const bool active = view.port->state.find("ACTIVE") != std::string::npos;
    RailEnd end;
    const bool roce = kind == LinkKind::kRoce;
    const bool lacks_gid = roce && !find_gids(pod, *view.port, end);
    if (view.kind != kind || !active || no(view.hca->device) ||
        (any_chosen && !view.chosen && !lacks_gid)) {
      out.left_out.push_back(view.name() + ": " + view.reason);
      continue;
    }
    end.hca = view.hca->name;
    end.port = view.port->number;
    end.ethernet = roce;
    end.mtu = view.port->mtu;
    end.rate_gbps = view.port->rate_gbps;
    out.ends.push_back(std::move(end));
  }
  return out;
}

std::string rails_to_json(const RailList& rails) {
  JsonWriter out;
  out.objects("rails", rails.ends,
              [](auto& writer, auto& end) { visit(writer, end); });
  out.field("left_out", rails.left_out);
  return out.text();
}

Result<RailList> rails_from_json(std::string_view json) {
  JsonReader in(json, "a list of rails");
  RailList out;
  in.objects("rails", out.ends,
             [](auto& reader, auto& end) { visit(reader, end); });
  in.field("left_out", out.left_out);
  if (Status status = in.status(); !status) return fail(status.error());
  return out;
}

std::string RailPair::name() const {
  return mine.hca == theirs.hca ? mine.hca : mine.hca + " to " + theirs.hca;
}

std::vector<RailPair> pair_rails(const std::vector<RailEnd>& mine,
                                 const std::vector<RailEnd>& theirs) {
  std::vector<RailPair> out;
  const size_t rails = std::min(mine.size(), theirs.size());
  for (size_t i = 0; i < rails; ++i) out.push_back({mine[i], theirs[i], false});
  if (rails > 1) out.push_back({mine[0], theirs[1], true});
  for (RailPair& pair : out) agree_on_gids(pair.mine, pair.theirs);
  return out;
}

}  // namespace muster
