// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/broadcast_host.h"

#include "base/text.h"
#include "logs/mark_scan.h"

namespace muster {

std::string_view BroadcastHost::host_of(std::string_view line) {
  constexpr std::string_view kHead = "Message from syslogd@";
  line = trim(line);
  if (line.starts_with(kHead)) {
    line.remove_prefix(kHead.size());
    host_ = marks::take_name(line);
    return {};
  }
  return line.starts_with("kernel:[") ? std::string_view(host_)
                                      : std::string_view();
}

}  // namespace muster
