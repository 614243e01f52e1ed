// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/who.h"

#include "base/text.h"

namespace muster {

std::optional<int> worker_number(std::string_view host) {
  host = host.substr(0, host.find('.'));
  const size_t dash = host.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = parse_integer(host.substr(dash + 1));
  if (!number || *number < 0 || *number > 1'000'000) return std::nullopt;
  const std::string lowered = to_lower(host.substr(0, dash));
  const std::string_view rest = lowered;
  if (rest == "worker" || rest.ends_with("-worker")) {
    return static_cast<int>(*number);
  }
  // Trainer v2: <job>-node-<group>-<index>
  const size_t before = rest.rfind('-');
  if (before != std::string_view::npos &&
      parse_integer(rest.substr(before + 1)) &&
      rest.substr(0, before).ends_with("-node")) {
    return static_cast<int>(*number);
  }
  return std::nullopt;
}

std::string worker_of(int rank, std::string_view host) {
  const auto number = worker_number(host);
  return number ? "Worker-" + std::to_string(*number) : who(rank, host);
}

std::string who(int rank, std::string_view host) {
  if (rank >= 0) {
    return "Rank " + std::to_string(rank) +
           (host.empty() ? "" : " on " + std::string(host));
  }
  if (worker_number(host)) return worker_of(rank, host);
  return host.empty() ? "The job" : "Host " + std::string(host);
}

std::string who_exactly(int rank, std::string_view host) {
  if (!worker_number(host)) return {};
  if (rank >= 0) {
    return " (rank " + std::to_string(rank) + " on " + std::string(host) + ")";
  }
  return host.starts_with("worker-") || host.starts_with("Worker-")
             ? ""
             : " (" + std::string(host) + ")";
}

}  // namespace muster
