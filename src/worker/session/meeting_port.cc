// SPDX-License-Identifier: Apache-2.0
#include "worker/session/meeting_port.h"

#include <algorithm>
#include <cstdint>

#include "base/fd.h"
#include "base/listen.h"
#include "base/random.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr int kFirst = 20000;
constexpr int kLast = 29999;
constexpr int kFewest = 100;  // fewer, and two launches take the same
constexpr int kTries = 64;

int size_of(const PortRange& range) {
  return range.first == 0 ? 0 : range.last - range.first + 1;
}

PortRange between(int first, int last) {
  return first <= last ? PortRange{first, last} : PortRange{};
}

// The kernel's default where it cannot be read.
PortRange ephemeral_ports(const std::string& root) {
  constexpr PortRange kUsual{32768, 60999};
  const auto text = read_file(root + "/proc/sys/net/ipv4/ip_local_port_range");
  if (!text) return kUsual;
  const auto words = split_words(*text);
  if (words.size() != 2) return kUsual;
  const auto first = parse_integer(words[0]);
  const auto last = parse_integer(words[1]);
  if (!first || !last) return kUsual;
  return {static_cast<int>(*first), static_cast<int>(*last)};
}

bool is_free(int port) { return static_cast<bool>(listen_on_any(port)); }

}  // namespace

PortRange meeting_ports(const PortRange& ephemeral) {
  const auto below = [&ephemeral](int first, int last) {
    return between(first, std::min(last, ephemeral.first - 1));
  };
  const auto above = [&ephemeral](int first, int last) {
    return between(std::max(first, ephemeral.last + 1), last);
  };
  PortRange best;
  for (const PortRange& room :
       {below(kFirst, kLast), above(kFirst, kLast), above(kLast + 1, 65535),
        below(1024, kFirst - 1)}) {
    if (size_of(room) >= kFewest) return room;
    if (size_of(room) > size_of(best)) best = room;
  }
  return best;
}

int choose_meeting_port(const std::string& allowed, const std::string& root) {
  const auto named = parse_port_range(allowed);
  const PortRange room = named ? *named : meeting_ports(ephemeral_ports(root));
  const int size = size_of(room);
  if (size == 0) return 0;
  const auto start = static_cast<int>(random_bits() % uint64_t(size));
  for (int i = 0; i < std::min(size, kTries); ++i) {
    const int port = room.first + (start + i) % size;
    if (is_free(port)) return port;
  }
  return 0;
}

}  // namespace muster
