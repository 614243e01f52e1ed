// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/read_counters.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/directory.h"
#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kSmall = 64 * 1024;

std::optional<int64_t> read_number(const std::string& path) {
  const auto text = read_file(path, kSmall);
  return text ? parse_integer(trim(*text)) : std::nullopt;
}

void add(int64_t& sum, std::optional<int64_t> value) {
  if (value && *value >= 0) sum = std::max<int64_t>(sum, 0) + *value;
}

// cpu.stat of v2 has microseconds, cpuacct of v1 nanoseconds; both count the
// CPU limit's periods.
void read_cpu(const CgroupPlace& place, wire::PodCounters& out) {
  if (place.version != 2) {
    const auto used = read_number(place.cpu + "/cpuacct.usage");
    if (used) out.cpu_us = *used / 1000;
  }
  const auto text = read_file(place.cpu + "/cpu.stat", kSmall);
  if (!text) return;
  for (const auto line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() != 2) continue;
    const int64_t value = parse_integer(words[1]).value_or(-1);
    if (words[0] == "usage_usec") out.cpu_us = value;
    if (words[0] == "nr_periods") out.cpu_periods = value;
    if (words[0] == "nr_throttled") out.cpu_throttled = value;
  }
}

// "full avg10=0.00 avg60=0.00 avg300=0.00 total=1234"
int64_t stall_us(const std::string& path) {
  constexpr std::string_view kTotal = "total=";
  const auto text = read_file(path, kSmall);
  if (!text) return -1;
  for (const auto line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 2 || words.front() != "full") continue;
    if (!words.back().starts_with(kTotal)) continue;
    return parse_integer(words.back().substr(kTotal.size())).value_or(-1);
  }
  return -1;
}

// Two heading lines, then "eth0: received packets … (8 columns) sent …".
void read_interfaces(const std::string& root, wire::PodCounters& out) {
  const auto text = read_file(root + "/proc/self/net/dev", 1 << 20);
  if (!text) return;
  for (const auto line : split(*text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == line.npos || trim(line.substr(0, colon)) == "lo") continue;
    const auto numbers = split_words(line.substr(colon + 1));
    if (numbers.size() < 9) continue;
    add(out.network_received, parse_integer(numbers[0]));
    add(out.network_sent, parse_integer(numbers[8]));
  }
}

// "400 Gb/sec (4X NDR)", of ports that are "4: ACTIVE".
void read_rate(const std::string& port, wire::PodCounters& out) {
  const auto state = read_file(port + "/state", kSmall);
  const auto rate = read_file(port + "/rate", kSmall);
  if (!state || !rate || state->find("ACTIVE") == std::string::npos) return;
  const double number = std::strtod(rate->c_str(), nullptr);
  if (number > 0 && number < 1e6) {
    out.rdma_port_gbps = std::max(out.rdma_port_gbps, 0.0) + number;
  }
}

// port_*_data count words of four bytes; EFA has no such and counts bytes.
void read_port(const std::string& port, wire::PodCounters& out) {
  read_rate(port, out);
  const auto words = [&port](const char* name) -> std::optional<int64_t> {
    const auto count = read_number(port + "/counters/" + name);
    return count ? std::optional(*count * 4) : std::nullopt;
  };
  const auto received = words("port_rcv_data");
  const auto sent = words("port_xmit_data");
  add(out.rdma_received,
      received ? received : read_number(port + "/hw_counters/rx_bytes"));
  add(out.rdma_sent, sent ? sent : read_number(port + "/hw_counters/tx_bytes"));
  for (const char* name :
       {"counters/symbol_error", "counters/link_downed",
        "counters/port_rcv_errors", "counters/port_xmit_discards",
        "hw_counters/local_ack_timeout_err", "hw_counters/packet_seq_err",
        "hw_counters/rnr_nak_retry_err", "hw_counters/rx_drops"}) {
    add(out.rdma_errors, read_number(port + "/" + name));
  }
}

}  // namespace

wire::PodCounters read_pod_counters(const std::string& root,
                                    const CgroupPlace& place) {
  wire::PodCounters out;
  if (!place.cpu.empty()) read_cpu(place, out);
  if (place.version == 2) {
    out.cpu_stall_us = stall_us(place.cpu + "/cpu.pressure");
    out.memory_stall_us = stall_us(place.memory + "/memory.pressure");
    out.io_stall_us = stall_us(place.memory + "/io.pressure");
  }
  read_interfaces(root, out);
  const std::string adapters = root + "/sys/class/infiniband";
  for (const std::string& adapter : names_in(adapters)) {
    const std::string ports = adapters + "/" + adapter + "/ports";
    for (const std::string& port : names_in(ports)) {
      read_port(ports + "/" + port, out);
    }
  }
  return out;
}

}  // namespace muster
