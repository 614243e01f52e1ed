// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/spawned_child.h"

#include "base/text.h"

namespace muster {

bool SpawnedChild::lost_parent(std::string_view line) {
  constexpr int kBelowFrame = 3;  // its source line, and Python's ^^^^
  const std::string_view text = trim(line);
  if (text.starts_with("File \"")) {
    const bool reads = text.ends_with("in _main") &&
                       text.find("spawn.py\"") != std::string_view::npos;
    left_ = reads ? kBelowFrame : 0;
    return false;
  }
  if (left_ == 0) return false;
  --left_;
  return text.starts_with("EOFError: Ran out of input") ||
         text.find("pickle data was truncated") != std::string_view::npos;
}

}  // namespace muster
