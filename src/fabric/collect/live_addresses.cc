// SPDX-License-Identifier: Apache-2.0
// Addresses by interface, asked from the kernel. The tables below /proc do not
// say on which of two interfaces in one network an address is.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "fabric/collect/collect_parts.h"

namespace muster {

namespace {

int ones(const unsigned char* bytes, int count) {
  int out = 0;
  for (int i = 0; i < count; ++i) out += __builtin_popcount(bytes[i]);
  return out;
}

template <class Socket>
const Socket& as(const sockaddr* address) {
  return *reinterpret_cast<const Socket*>(address);
}

std::string text_of(int family, const void* address, const void* mask) {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(family, address, text, sizeof text);
  const int bytes = family == AF_INET ? 4 : 16;
  const int bits = ones(static_cast<const unsigned char*>(mask), bytes);
  return std::string(text) + "/" + std::to_string(bits);
}

}  // namespace

std::optional<InterfaceAddresses> live_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  InterfaceAddresses out;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family == AF_INET) {
      out[one->ifa_name].push_back(
          text_of(family, &as<sockaddr_in>(one->ifa_addr).sin_addr,
                  &as<sockaddr_in>(one->ifa_netmask).sin_addr));
    } else if (family == AF_INET6) {
      out[one->ifa_name].push_back(
          text_of(family, &as<sockaddr_in6>(one->ifa_addr).sin6_addr,
                  &as<sockaddr_in6>(one->ifa_netmask).sin6_addr));
    }
  }
  return out;
}

}  // namespace muster
