// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

namespace muster {

std::string to_text(const Address& address) {
  char host[NI_MAXHOST];
  if (::getnameinfo(address.raw(), address.length, host, sizeof host, nullptr,
                    0, NI_NUMERICHOST) != 0) {
    return "?";
  }
  return host;
}

void set_port(Address& address, int port) {
  const auto value = htons(static_cast<uint16_t>(port));
  if (address.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = value;
  } else {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = value;
  }
}

}  // namespace muster
