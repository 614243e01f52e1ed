// SPDX-License-Identifier: Apache-2.0
// Any bytes as /proc/self/mountinfo and as an ssh configuration.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "job/mountinfo.h"
#include "job/ssh_port.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const muster::Mount& mount : muster::parse_mountinfo(text)) {
    if (mount.point.empty() || mount.point[0] != '/') std::abort();
  }
  const auto port = muster::port_of_ssh_config(text);
  if (port && (*port < 1 || *port > 65535)) std::abort();
  return 0;
}
