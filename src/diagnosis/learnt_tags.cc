// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/learnt_tags.h"

#include <algorithm>

#include "base/text.h"
#include "logs/mark_scan.h"

namespace muster {

namespace {

constexpr size_t kMaxNames = 4096;

// Hosts of a cluster have a number. Threads and processes do, too.
bool may_be_host(std::string_view name) {
  if (std::none_of(name.begin(), name.end(), marks::digit) ||
      marks::digit(name.front())) {
    return false;
  }
  const std::string lower = to_lower(name);
  for (const std::string_view part :
       {"thread", "proc", "task", "rank", "python", "stage", "step", "job",
        "trial", "test"}) {
    if (lower.starts_with(part)) return false;
  }
  return true;
}

bool is_traceback(std::string_view text) {
  return text.starts_with("Traceback (most recent call last)") ||
         text.starts_with("  File \"");
}

}  // namespace

std::string LearntTags::take(std::string& line) {
  std::string_view rest = line;
  const std::string name(marks::take_name(rest));
  if (name.empty() || !rest.starts_with(": ")) return {};
  rest.remove_prefix(2);
  if (!names_.contains(name)) {
    if (names_.size() >= kMaxNames || !is_traceback(rest) ||
        !may_be_host(name)) {
      return {};
    }
    names_.insert(name);
  }
  line = std::string(rest);
  return name;
}

}  // namespace muster
