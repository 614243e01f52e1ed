// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/learnt_tags.h"

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

// "node-b: [rank7]: " is not a sentence, but "ERROR: [rank7]: " is one.
bool is_marked(std::string_view name, std::string_view text) {
  if (!text.starts_with("[rank")) return false;
  if (name.size() < 3) return may_be_host(name);  // "w3", but no "E"
  const std::string lower = to_lower(name);
  for (const std::string_view word :
       {"err", "warn", "info", "debug", "std", "trace", "log", "out", "msg",
        "fatal", "critical", "note"}) {
    if (lower.starts_with(word)) return false;
  }
  return true;
}

// "[2026-11-21 08:00:00,123] [INFO] " and "W1121 08:00:00.000 77 x.py:3] ".
bool is_logged(std::string_view text) {
  const bool dated =
      text.starts_with("[20") && text.substr(0, 6).ends_with('-');
  const bool glog =
      text.size() > 8 && text.substr(5, 1) == " " &&
      std::string_view("WEIF").find(text.front()) != std::string_view::npos &&
      std::all_of(text.begin() + 1, text.begin() + 5, marks::digit) &&
      text[8] == ':';
  return dated || glog;
}

bool is_traceback(std::string_view text) {
  return text.starts_with("Traceback (most recent call last)") ||
         text.starts_with("  File \"");
}

// "FileNotFoundError: …", "torch.OutOfMemoryError: …".
bool is_exception(std::string_view text) {
  const std::string_view name = marks::take_name(text);
  return text.starts_with(": ") &&
         (name.ends_with("Error") || name.ends_with("Exception"));
}

bool differ_in_number(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return x == y || (marks::digit(x) && marks::digit(y));
         });
}

}  // namespace

std::string LearntTags::take_late(std::string& line) const {
  std::string_view rest = line;
  const std::string name(marks::take_name(rest));
  if (names_.empty() || name.empty() || !rest.starts_with(": ")) return {};
  rest.remove_prefix(2);
  if (!is_exception(rest) && !is_traceback(rest)) return {};
  const bool known = std::any_of(names_.begin(), names_.end(),
                                 [&name](const std::string& other) {
                                   return differ_in_number(name, other);
                                 });
  if (!known) return {};
  line = std::string(rest);
  return name;
}

std::string LearntTags::take(std::string& line) {
  std::string_view rest = line;
  const std::string name(marks::take_name(rest));
  if (name.empty() || !rest.starts_with(": ")) return {};
  rest.remove_prefix(2);
  if (!names_.contains(name)) {
    const bool tag =
        ((is_traceback(rest) || is_logged(rest)) && may_be_host(name)) ||
        is_marked(name, rest);
    if (names_.size() >= kMaxNames || !tag) return {};
    names_.insert(name);
  }
  line = std::string(rest);
  return name;
}

}  // namespace muster
