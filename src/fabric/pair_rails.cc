// SPDX-License-Identifier: Apache-2.0
#include "fabric/pair_rails.h"

#include <algorithm>

#include "fabric/gids.h"
#include "fabric/name_list.h"
#include "fabric/ports.h"
#include "job/json_fields.h"

namespace muster {

namespace {

int best_gid(const PodFabric& pod, const FabricPort& port) {
  for (const GidAddress kind :
       {GidAddress::kIpv4, GidAddress::kIpv6, GidAddress::kLinkLocal}) {
    const auto usable = usable_gids(pod, port, kind);
    if (!usable.empty()) return usable.front()->index;
  }
  return -1;
}

template <class Writer, class End>
void visit(Writer& out, End& end) {
  out.required("hca", end.hca);
  out.required("port", end.port);
  out.field("gid_index", end.gid_index);
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
    const int gid = kind == LinkKind::kRoce ? best_gid(pod, *view.port) : -1;
    const bool lacks_gid = kind == LinkKind::kRoce && gid < 0;
    if (view.kind != kind || !active || no(view.hca->device) ||
        (any_chosen && !view.chosen && !lacks_gid)) {
      out.left_out.push_back(view.name() + ": " + view.reason);
      continue;
    }
    out.ends.push_back({view.hca->name, view.port->number, gid,
                        kind == LinkKind::kRoce, view.port->mtu,
                        view.port->rate_gbps});
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
  return out;
}

}  // namespace muster
