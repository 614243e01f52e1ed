// SPDX-License-Identifier: Apache-2.0
// Finds the network that all pods share. If the facts do not say which
// interface the peers reach, they reach a network in which every pod has an
// address of its own: docker0 has the same address everywhere, and a pod
// network's bridge has another network on each node. Pure.
#include <algorithm>
#include <map>
#include <set>

#include "fabric/facts/effective.h"
#include "fabric/policy/job_state.h"

namespace muster {

namespace {

struct Place {
  std::string netdev;
  std::string address;
};

using Places = std::map<std::string, Place>;  // by network

Places places_of(const FabricNetdev& netdev) {
  Places out;
  if (netdev_class(netdev) != NetdevClass::kUsable) return out;
  for (const std::string& address : netdev.addresses) {
    const std::string network = network_of(address);
    if (network.empty() || network.ends_with("/32")) continue;
    out[network] = {netdev.name, bare_address(address)};
  }
  return out;
}

// Networks of the pod outside of its RDMA rails; none if one is unknown.
Places places_of(const FabricPodState& pod) {
  Places out;
  if (!pod.facts->netdevs) return out;
  for (const FabricNetdev& netdev : *pod.facts->netdevs) {
    if (netdev_class(netdev) != NetdevClass::kUsable) continue;
    if (is_rail(pod, netdev.name)) continue;
    for (const std::string& address : netdev.addresses) {
      if (address.find('/') == std::string::npos) return {};
    }
    out.merge(places_of(netdev));
  }
  return out;
}

// The networks that all have, each with another address.
Places common(const std::vector<Places>& pods) {
  Places out = pods.front();
  for (auto place = out.begin(); place != out.end();) {
    std::set<std::string> addresses;
    for (const Places& pod : pods) {
      const auto found = pod.find(place->first);
      if (found != pod.end()) addresses.insert(found->second.address);
    }
    place =
        addresses.size() == pods.size() ? std::next(place) : out.erase(place);
  }
  return out;
}

// The default route's interface has one address in several pods: it leads out
// of each host by NAT (docker_gwbridge), not from pod to pod.
bool default_route_is_nat(const FabricJob& job) {
  std::set<std::string> addresses;
  size_t known = 0;
  for (const FabricPodState& pod : job.pods) {
    const FabricNetdev* netdev = find_netdev(*pod.facts, pod.primary.name);
    if (netdev == nullptr || !pod.facts->peer_address.empty() ||
        yes(pod.facts->host_network)) {
      return false;
    }
    if (netdev->addresses.empty()) continue;
    ++known;
    addresses.insert(netdev->addresses.front());
  }
  return addresses.size() < known;
}

bool is_wireless(const std::string& netdev) {
  return netdev.starts_with("wl");  // wlan0, wlp2s0
}

bool default_route_is_wireless(const FabricJob& job) {
  const auto known = [](const FabricPodState& pod) {
    return !pod.facts->peer_address.empty();
  };
  const auto wireless = [](const FabricPodState& pod) {
    return is_wireless(pod.primary.name);
  };
  return std::none_of(job.pods.begin(), job.pods.end(), known) &&
         std::any_of(job.pods.begin(), job.pods.end(), wireless);
}

// Those of them that are wired in every pod; all, if none is.
Places best_of(const Places& shared, const std::vector<Places>& pods) {
  Places wired;
  for (const auto& [network, place] : shared) {
    const bool air = std::any_of(pods.begin(), pods.end(),
                                 [name = network](const Places& pod) {
                                   return is_wireless(pod.at(name).netdev);
                                 });
    if (!air) wired[network] = place;
  }
  return wired.empty() ? shared : wired;
}

}  // namespace

void find_common_network(FabricJob& job) {
  if (job.pods.size() < 2) return;
  std::vector<Places> pods;
  for (const FabricPodState& pod : job.pods) pods.push_back(places_of(pod));
  const Places all = common(pods);
  const Places shared = best_of(all, pods);
  if (shared.size() != 1) return;
  const std::string which =
      all.size() > 1 ? "the one wired network" : "the one network";
  const std::string& network = shared.begin()->first;
  const bool instead =
      default_route_is_nat(job) || default_route_is_wireless(job);
  for (size_t i = 0; i < job.pods.size(); ++i) {
    FabricPodState& pod = job.pods[i];
    if ((!pod.primary.name.empty() && !instead) || pod.on_loopback) continue;
    pod.primary = {pods[i].at(network).netdev,
                   "it is in " + network + ", " + which + " of all pods"};
  }
}

bool interfaces_meet(const FabricJob& job, bool all, bool users) {
  std::vector<std::vector<Places>> pods;
  size_t most = 0;
  for (const FabricPodState& pod : job.pods) {
    const auto wanted = effective(*pod.facts, "NCCL_SOCKET_IFNAME");
    auto own = nccl_interfaces(*pod.facts, pod.assumed_version(),
                               users && wanted ? wanted->value : "");
    if (!all && own.size() > 1) own.resize(1);
    auto& places = pods.emplace_back();
    for (const std::string& name : own) {
      places.push_back(places_of(*find_netdev(*pod.facts, name)));
    }
    most = std::max(most, own.size());
  }
  for (size_t i = 0; i < most; ++i) {
    std::vector<Places> column;
    for (const auto& places : pods) {
      if (places.size() != most) return false;
      column.push_back(places[i]);
    }
    if (common(column).empty()) return false;
  }
  return most > 0 && job.pods.size() > 1;
}

}  // namespace muster
