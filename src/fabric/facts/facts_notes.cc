// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_notes.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/ports.h"
#include "fabric/policy/network/sockets.h"

namespace muster {

namespace {

// For a terminal.
std::string quoted(const std::string& text) {
  std::string out = text.substr(0, 60);
  std::replace_if(
      out.begin(), out.end(),
      [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return "\"" + out + "\"";
}

bool is_address(const std::string& text) {
  return address_in(text, "::/0") || address_in(text, "0.0.0.0/0");
}

// For redacted and mistyped addresses: the pod still counts as having one.
std::string trouble_with(const std::string& address) {
  const std::string bare = bare_address(address);
  if (!is_address(bare)) return "not an address";
  if (bare.size() == address.size()) return "";
  const auto bits = parse_integer(address.substr(bare.size() + 1));
  const int most = bare.find(':') == bare.npos ? 32 : 128;
  return bits && *bits >= 0 && *bits <= most ? "" : "not a prefix length";
}

void note_ports(const FabricHca& hca, const std::string& where,
                std::vector<std::string>& notes) {
  for (const FabricPort& port : hca.ports) {
    if (!port.link_layer.empty() && !is_link_layer(port.link_layer)) {
      notes.push_back(where + ".hcas: " + hca.name + ": " +
                      quoted(port.link_layer) +
                      " is not a link layer (InfiniBand, Ethernet, "
                      "Unspecified)");
    }
    if (port.rate_gbps < 0 && port.rate_gbps != -1) {
      notes.push_back(where + ".hcas: " + hca.name +
                      ": a rate below zero is taken as unknown");
    }
    if (!port.state.empty() && !is_port_state(port.state)) {
      notes.push_back(where + ".hcas: " + hca.name + ": " + quoted(port.state) +
                      " is not a port state; taken as not active");
    }
    if (!port.gids) continue;
    for (const FabricGid& gid : *port.gids) {
      const bool zero = gid.gid.find_first_not_of("0:") == gid.gid.npos;
      if (zero || is_address(gid.gid)) continue;
      notes.push_back(where + ".hcas: " + hca.name + ": " + quoted(gid.gid) +
                      " is not a GID address");
    }
  }
}

}  // namespace

void note_values(const PodFabric& pod, const std::string& where,
                 std::vector<std::string>& notes) {
  for (const FabricNetdev& netdev :
       pod.netdevs.value_or(std::vector<FabricNetdev>{})) {
    for (const std::string& address : netdev.addresses) {
      const std::string trouble = trouble_with(address);
      if (trouble.empty()) continue;
      notes.push_back(where + ".netdevs: " + netdev.name + ": " +
                      quoted(address) + " is " + trouble +
                      "; its network stays unknown");
    }
  }
  for (const FabricHca& hca : pod.hcas.value_or(std::vector<FabricHca>{})) {
    note_ports(hca, where, notes);
  }
}

std::vector<std::string> told_once(const std::vector<std::string>& notes) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const std::string& note : notes) {
    const size_t end = note.starts_with("pods[") ? note.find(']') : 0;
    if (seen.insert(note.substr(end)).second) out.push_back(note);
  }
  return out;
}

}  // namespace muster
