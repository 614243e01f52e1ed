// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/locked_memory.h"

#include <cstdlib>

#include "base/text.h"
#include "fabric/collect/sys_files.h"

namespace muster {

bool may_lock_all(const std::string& root) {
  constexpr unsigned kIpcLock = 14;  // linux/capability.h
  const std::string status = read_sys(root + "/proc/self/status").text;
  bool has = false;
  for (const auto line : split(status, '\n')) {
    const auto words = split_words(line);
    if (words.size() != 2 || words[0] != "CapEff:") continue;
    const std::string mask(words[1]);
    has = (std::strtoull(mask.c_str(), nullptr, 16) >> kIpcLock & 1U) != 0;
  }
  if (!has) return false;
  const std::string map = read_sys(root + "/proc/self/uid_map").text;
  const auto ids = split_words(map);
  return ids.size() == 3 && ids[0] == "0" && ids[1] == "0" &&
         ids[2] == "4294967295";
}

}  // namespace muster
