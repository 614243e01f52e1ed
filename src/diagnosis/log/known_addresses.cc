// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/known_addresses.h"

namespace muster {

namespace {

constexpr size_t kMaxNames = 4096;

}  // namespace

std::string_view KnownAddresses::host_in(std::string_view line) {
  constexpr std::string_view kAdded = "Warning: Permanently added '";
  if (line.starts_with(kAdded)) {
    std::string_view pair = line.substr(kAdded.size());
    pair = pair.substr(0, pair.find('\''));
    const size_t comma = pair.find(',');
    if (comma != std::string_view::npos && names_.size() < kMaxNames) {
      names_.emplace(pair.substr(comma + 1), pair.substr(0, comma));
    }
    return {};
  }
  const size_t port =
      names_.empty() ? std::string_view::npos : line.find(" port ");
  if (port == std::string_view::npos) return {};
  const std::string_view before = line.substr(0, port);
  const size_t blank = before.rfind(' ');
  if (blank == std::string_view::npos) return {};
  const auto at = names_.find(before.substr(blank + 1));
  return at == names_.end() ? std::string_view() : std::string_view(at->second);
}

}  // namespace muster
