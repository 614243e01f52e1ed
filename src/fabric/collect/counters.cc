// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/counters.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "fabric/collect/sys_files.h"

namespace muster {

namespace {

// Marks and pauses: the fabric does its work, at a price.
constexpr std::array<std::string_view, 5> kCongestion = {
    "np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled",
    "roce_adp_retrans", "port_xmit_discards"};
constexpr std::array<std::string_view, 14> kAdapterLoss = {
    "local_ack_timeout_err",  // hw_counters of mlx5, irdma, bnxt_re, …
    "packet_seq_err",        "out_of_sequence",      "rnr_nak_retry_err",
    "implied_nak_seq_err",   "rx_icrc_encapsulated",
    "ack_timeout",  // those of soft RoCE
    "completer_retry_err",   "out_of_seq_request",   "retry_exceeded_err",
    "symbol_error",  // counters/, of InfiniBand
    "link_error_recovery",   "link_downed",          "port_rcv_errors"};
// Not rx_dropped: it counts every broadcast that nobody waits for.
constexpr std::array<std::string_view, 6> kInterfaceLoss = {
    "rx_errors",        "tx_errors",  "rx_crc_errors",
    "rx_missed_errors", "tx_dropped", "tx_carrier_errors"};

void take(const std::string& directory, std::string_view name,
          const std::string& owner, Counters& out) {
  const auto value = read_sys_number(directory + "/" + std::string(name));
  if (value) out[owner + " " + std::string(name)] = *value;
}

void read_adapters(const std::string& root, Counters& out) {
  const std::string base = root + "/sys/class/infiniband";
  const auto names = list_sys(base);
  for (const auto& hca : names.value_or(std::vector<std::string>{})) {
    const auto ports = list_sys(base + "/" + hca + "/ports");
    for (const auto& port : ports.value_or(std::vector<std::string>{})) {
      const std::string path = base + "/" + hca + "/ports/" + port;
      for (const char* folder : {"/hw_counters", "/counters"}) {
        for (const auto name : kAdapterLoss) {
          take(path + folder, name, hca + "/" + port, out);
        }
        for (const auto name : kCongestion) {
          take(path + folder, name, hca + "/" + port, out);
        }
      }
    }
  }
}

void read_interfaces(const std::string& root, Counters& out) {
  const std::string base = root + "/sys/class/net";
  const auto names = list_sys(base);
  for (const auto& name : names.value_or(std::vector<std::string>{})) {
    if (name == "lo") continue;  // loses nothing
    for (const auto counter : kInterfaceLoss) {
      take(base + "/" + name + "/statistics", counter, name, out);
    }
  }
}

// Two lines "Tcp: …" in /proc/net/snmp, names and values.
void read_tcp(const std::string& root, Counters& out) {
  const SysText file = read_sys(root + "/proc/net/snmp");
  std::vector<std::string_view> names;
  for (const auto line : split(file.text, '\n')) {
    if (!line.starts_with("Tcp:")) continue;
    auto words = split_words(line);
    if (names.empty()) {
      names = std::move(words);
      continue;
    }
    for (size_t i = 1; i < std::min(names.size(), words.size()); ++i) {
      if (names[i] != "OutSegs" && names[i] != "RetransSegs") continue;
      if (const auto value = parse_integer(words[i])) {
        out["TCP " + std::string(names[i])] = *value;
      }
    }
    return;
  }
}

}  // namespace

Counters read_counters(const std::string& root) {
  Counters out;
  read_adapters(root, out);
  read_interfaces(root, out);
  read_tcp(root, out);
  return out;
}

std::vector<GrownCounter> grown_counters(const Counters& before,
                                         const Counters& after) {
  Counters grown;
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (old != before.end() && value > old->second) {
      grown[name] = value - old->second;
    }
  }
  const auto sent = grown.find("TCP OutSegs");
  const auto again = grown.find("TCP RetransSegs");
  if (again != grown.end() &&
      (sent == grown.end() || again->second < sent->second / 100)) {
    grown.erase(again);
  }
  grown.erase("TCP OutSegs");
  std::vector<GrownCounter> out;
  for (const auto& [name, growth] : grown) out.push_back({name, growth});
  return out;
}

std::string counters_text(const std::vector<GrownCounter>& grown) {
  std::string out;
  for (const GrownCounter& counter : grown) {
    if (!out.empty()) out += ", ";
    out += counter.name + " +" + std::to_string(counter.growth);
  }
  return out;
}

bool counters_tell_loss(const std::vector<GrownCounter>& grown) {
  return std::any_of(grown.begin(), grown.end(), [](const auto& counter) {
    const std::string_view all = counter.name;
    const std::string_view name = all.substr(all.rfind(' ') + 1);
    return std::find(kCongestion.begin(), kCongestion.end(), name) ==
           kCongestion.end();
  });
}

}  // namespace muster
