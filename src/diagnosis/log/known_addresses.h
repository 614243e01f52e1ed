// SPDX-License-Identifier: Apache-2.0
// KnownAddresses: names of hosts by their addresses, from ssh's "Permanently
// added 'x-worker-3.x,10.42.7.5' (ED25519)". ssh reports its errors by address.
// Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace muster {

class KnownAddresses {
 public:
  // Learns from `line`, and returns the host that ssh names in it by its
  // address; empty: none that is known.
  std::string_view host_in(std::string_view line);

 private:
  std::map<std::string, std::string, std::less<>> names_;
};

}  // namespace muster
