// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/ssh_target.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster {

void SshTarget::learn(std::string_view name) {
  if (name.empty()) return;
  several_ = several_ || (!host_.empty() && host_ != name);
  host_ = name;
}

std::string_view SshTarget::host_of(std::string_view line) {
  constexpr std::string_view kConnects = "debug1: Connecting to ";
  constexpr std::string_view kAdded = "Warning: Permanently added '";
  constexpr std::array<std::string_view, 5> kLastWords = {
      "Permission denied (", "Host key verification failed",
      "kex_exchange_identification: ", "ssh_exchange_identification: ",
      "Received disconnect from "};
  line = trim(line);
  if (line.starts_with(kConnects)) {
    learn(line.substr(kConnects.size(),
                      line.find(' ', kConnects.size()) - kConnects.size()));
    return {};
  }
  if (line.starts_with(kAdded)) {
    const std::string_view name = line.substr(kAdded.size());
    // "[name]:port" and "name,address", too.
    const size_t start = name.starts_with('[') ? 1 : 0;
    learn(name.substr(start, name.find_first_of("]',") - start));
    return {};
  }
  const bool last = std::any_of(
      kLastWords.begin(), kLastWords.end(),
      [line](std::string_view words) { return line.starts_with(words); });
  return last && !several_ ? std::string_view(host_) : std::string_view();
}

}  // namespace muster
