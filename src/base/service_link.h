// SPDX-License-Identifier: Apache-2.0
// Kubernetes gives each pod variables for the Services of its namespace: for
// one named "db" DB_PORT=tcp://10.0.0.1:5432. Pure.
#pragma once

#include <string_view>

namespace muster {

inline bool is_link_url(std::string_view value) {
  return value.starts_with("tcp://") || value.starts_with("udp://") ||
         value.starts_with("sctp://");
}

}  // namespace muster
