// SPDX-License-Identifier: Apache-2.0
// A socket address as a value, and its text.
#pragma once

#include <sys/socket.h>

#include <string>

namespace muster {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* raw() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

// "10.0.0.7" or "fd00::7".
std::string to_text(const Address& address);
void set_port(Address& address, int port);

}  // namespace muster
