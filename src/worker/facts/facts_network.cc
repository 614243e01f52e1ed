// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/facts_network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <bit>
#include <cstring>
#include <memory>
#include <string>

#include "base/fd.h"

namespace muster {

namespace {

int count_bits(const void* bytes, size_t size) {
  int bits = 0;
  for (size_t i = 0; i < size; ++i) {
    bits += std::popcount(static_cast<const unsigned char*>(bytes)[i]);
  }
  return bits;
}

// "10.1.2.3/24"; "" for other families.
std::string address_text(const ifaddrs& entry) {
  char text[INET6_ADDRSTRLEN] = {};
  int bits = 0;
  if (entry.ifa_addr->sa_family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry.ifa_addr);
    const auto* mask = reinterpret_cast<const sockaddr_in*>(entry.ifa_netmask);
    ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    if (mask != nullptr) bits = count_bits(&mask->sin_addr, 4);
  } else if (entry.ifa_addr->sa_family == AF_INET6) {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
    const auto* mask = reinterpret_cast<const sockaddr_in6*>(entry.ifa_netmask);
    ::inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof text);
    if (mask != nullptr) bits = count_bits(&mask->sin6_addr, 16);
  } else {
    return "";
  }
  return std::string(text) + "/" + std::to_string(bits);
}

int mtu_of(int socket, const char* name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  return ::ioctl(socket, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : -1;
}

NetInterface& named(std::vector<NetInterface>& all, const char* name) {
  for (NetInterface& known : all) {
    if (known.name == name) return known;
  }
  all.emplace_back().name = name;
  return all.back();
}

}  // namespace

std::vector<NetInterface> network_interfaces() {
  std::vector<NetInterface> out;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return out;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    NetInterface& interface = named(out, entry->ifa_name);
    interface.up = (entry->ifa_flags & IFF_UP) != 0;
    if (interface.mtu < 0)
      interface.mtu = mtu_of(socket.get(), entry->ifa_name);
    if (entry->ifa_addr == nullptr) continue;
    std::string address = address_text(*entry);
    if (!address.empty()) interface.addresses.push_back(std::move(address));
  }
  return out;
}

}  // namespace muster
