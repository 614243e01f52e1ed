// SPDX-License-Identifier: Apache-2.0
#include "job/cpu_list.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {
constexpr int64_t kHighest = 65535;
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> out;
  text = trim(text);
  if (text.empty()) return out;
  const auto parts = split(text, ',');
  for (const auto part : parts) {
    const size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last =
        dash == part.npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kHighest) {
      return std::nullopt;
    }
    for (int64_t cpu = *first; cpu <= *last; ++cpu) {
      out.push_back(static_cast<int>(cpu));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string cpu_list_text(const std::vector<int>& ascending) {
  std::string out;
  for (size_t i = 0; i < ascending.size();) {
    size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) {
      ++end;
    }
    if (!out.empty()) out += ',';
    out += std::to_string(ascending[i]);
    if (end - i > 1) out += "-" + std::to_string(ascending[end - 1]);
    i = end;
  }
  return out;
}

}  // namespace muster
