// SPDX-License-Identifier: Apache-2.0
// /proc/self/mountinfo as a list, as far as muster needs it (proc(5)). Skips
// lines that it does not understand. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct Mount {
  std::string point;  // unescaped: blanks are restored
  std::string type;   // "tmpfs"
  std::string source;
};

// In the order of the text; later mounts lie over earlier ones.
std::vector<Mount> parse_mountinfo(std::string_view text);

}  // namespace muster
