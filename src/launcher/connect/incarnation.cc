// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/incarnation.h"

#include <algorithm>
#include <string_view>

#include "base/fd.h"
#include "base/process_table.h"
#include "base/text.h"

namespace muster {

namespace {

// The end of the path of the overlay's upper directory; "": not visible.
std::string writable_layer(const std::string& mountinfo) {
  constexpr size_t kMountPoint = 4;
  constexpr std::string_view kUpper = "upperdir=";
  constexpr size_t kEnough = 120;  // the layer's own name is at the end
  const auto text = read_file(mountinfo);
  if (!text) return {};
  for (const std::string_view line : split(*text, '\n')) {
    const auto fields = split_words(line);
    if (fields.size() <= kMountPoint || fields[kMountPoint] != "/") continue;
    for (const std::string_view option : split(fields.back(), ',')) {
      if (!option.starts_with(kUpper)) continue;
      const auto path = option.substr(kUpper.size());
      return std::string(
          path.substr(path.size() - std::min(path.size(), kEnough)));
    }
  }
  return {};
}

}  // namespace

std::string launcher_incarnation(const std::string& hostname,
                                 const std::string& root) {
  const std::string layer = writable_layer(root + "/proc/self/mountinfo");
  return hostname + "@" + std::to_string(start_time(1, root + "/proc")) +
         (layer.empty() ? "" : "@" + layer);
}

}  // namespace muster
