// SPDX-License-Identifier: Apache-2.0
// Rates as tools and people write them: "400 Gb/sec (4X NDR)", "NDR200", "50
// GB/s". Pure.
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "fabric/facts/facts_words.h"

namespace muster {

int generation_gbps(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, int>, 6> kKnown = {
      {{"qdr", 40},
       {"fdr", 56},
       {"edr", 100},
       {"hdr", 200},
       {"ndr", 400},
       {"xdr", 800}}};
  const std::string lower = to_lower(trim(word));
  for (const auto& [name, rate] : kKnown) {
    if (!lower.starts_with(name)) continue;
    if (lower == name) return rate;
    const auto number = parse_integer(lower.substr(name.size()));
    if (number && *number > 0 && *number <= rate) {
      return static_cast<int>(*number);
    }
  }
  return 0;
}

std::optional<double> gbps_of_words(std::string_view text, double gbps_of_one) {
  constexpr int kLanes = 4;
  const std::string lower = to_lower(trim(text));
  if (lower.empty() || lower.starts_with("unknown") || lower == "n/a") return 0;
  if (const int rate = generation_gbps(lower); rate > 0) return rate;
  const size_t end = lower.find_first_not_of("0123456789.");
  if (end == 0) return std::nullopt;
  const double value = std::strtod(lower.c_str(), nullptr);
  if (!std::isfinite(value)) return std::nullopt;
  if (end == lower.npos) return value * gbps_of_one;
  // "4x ndr", "2X HDR"
  if (lower[end] == 'x') {
    const int rate = generation_gbps(lower.substr(end + 1));
    return rate > 0 ? std::optional(value * rate / kLanes) : std::nullopt;
  }
  const size_t at = lower.find_first_not_of(' ', end);
  const std::string unit =
      lower.substr(at, lower.find_first_of(" (,", at) - at);
  const double scale = unit[0] == 't'   ? 1000
                       : unit[0] == 'g' ? 1
                       : unit[0] == 'm' ? 0.001
                       : unit[0] == 'k' ? 1e-6
                                        : 0;
  if (scale == 0) {  // "100 (4X EDR)"
    return unit.empty() || unit[0] == '(' ? std::optional(value * gbps_of_one)
                                          : std::nullopt;
  }
  const bool bytes =
      trim(text).substr(at, 2).ends_with('B') || unit.find("byte") != unit.npos;
  return value * scale * (bytes ? 8 : 1);
}

}  // namespace muster
