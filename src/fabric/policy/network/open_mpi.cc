// SPDX-License-Identifier: Apache-2.0
// Source: Open MPI documentation, TCP; opal/mca/btl/tcp/btl_tcp_component.c.
#include "fabric/policy/network/open_mpi.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/user_text.h"

namespace muster {

namespace {

bool names(std::string_view list, std::string_view word) {
  const std::vector<std::string> entries = entries_of(list);
  return std::find(entries.begin(), entries.end(), word) != entries.end();
}

// Takes ucx for verbs only, cm for the networks of libfabric and PSM2.
bool ob1_remains(const FabricJob& job, const std::string& pml) {
  if (!pml.starts_with('^')) return pml == "ob1";
  return names(pml, "cm") && (names(pml, "ucx") || !job.uses_verbs());
}

}  // namespace

bool open_mpi_on_tcp(const FabricJob& job, const PodFabric& pod) {
  const std::string btl = value_of(pod, "OMPI_MCA_btl");
  constexpr std::array<std::string_view, 4> kAdapters = {"openib", "uct", "ofi",
                                                         "usnic"};
  return ob1_remains(job, value_of(pod, "OMPI_MCA_pml")) &&
         !btl.starts_with('^') && names(btl, "tcp") &&
         std::none_of(kAdapters.begin(), kAdapters.end(),
                      [&](auto other) { return names(btl, other); });
}

std::vector<std::string> bridges_left_in(const PodFabric& pod,
                                         const std::string& excluded) {
  std::vector<std::string> out;
  if (!pod.netdevs) return out;
  const auto parts = split(excluded, ',');
  for (const FabricNetdev& netdev : *pod.netdevs) {
    // It does not ask whether a peer is at the other end.
    FabricNetdev carrier = netdev;
    carrier.running = std::nullopt;
    if (netdev_class(carrier) != NetdevClass::kBridge) continue;
    const bool named = std::any_of(parts.begin(), parts.end(), [&](auto part) {
      const std::string entry(trim(part));
      return entry == netdev.name ||
             std::any_of(netdev.addresses.begin(), netdev.addresses.end(),
                         [&](auto& address) {
                           return entry.find('/') != entry.npos &&
                                  address_in(bare_address(address), entry);
                         });
    });
    if (!named) out.push_back(netdev.name);
  }
  return out;
}

}  // namespace muster
