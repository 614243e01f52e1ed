// SPDX-License-Identifier: Apache-2.0
// Any bytes as a hostfile: parse or one sentence; what parses must survive
// being written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "job/hostfile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(parse_host_list(text, "-H"));
  const auto file = parse_hostfile(text, "F");
  if (!file) {
    if (file.error().text().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  for (const HostfileFormat format :
       {HostfileFormat::kOpenMpi, HostfileFormat::kMpich}) {
    const auto again = parse_hostfile(write_hostfile(file->hosts, format), "G");
    if (!again || again->hosts.size() != file->hosts.size()) std::abort();
    for (size_t i = 0; i < file->hosts.size(); ++i) {
      const HostEntry& before = file->hosts[i];
      const HostEntry& after = again->hosts[i];
      if (before.name != after.name || before.slots != after.slots) {
        std::abort();
      }
    }
  }
  return 0;
}
