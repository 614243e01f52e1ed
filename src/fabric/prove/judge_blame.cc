// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <map>

#include "fabric/prove/judge_parts.h"

namespace muster {

namespace {

using Counts = std::map<size_t, size_t>;

bool concerns(const Way& way, size_t pod, BlameSide side) {
  return (side != BlameSide::kTo && way.from == pod) ||
         (side != BlameSide::kFrom && way.to == pod);
}

Counts count(const std::vector<Way>& ways, BlameSide side) {
  Counts out;
  for (const Way& way : ways) {
    if (side != BlameSide::kTo) ++out[way.from];
    if (side != BlameSide::kFrom) ++out[way.to];
  }
  return out;
}

}  // namespace

BlamedWays blame(const std::vector<Way>& tested, std::vector<Way> bad,
                 BlameSide side) {
  BlamedWays out;
  const Counts all = count(tested, side);
  for (;;) {
    const Counts left = count(bad, side);
    const auto worst =
        std::max_element(left.begin(), left.end(),
                         [](auto& a, auto& b) { return a.second < b.second; });
    if (worst == left.end() || worst->second < 2 ||
        2 * worst->second < all.at(worst->first)) {
      break;
    }
    const size_t pod = worst->first;
    out.pods.push_back(pod);
    out.bad_of.push_back(worst->second);
    out.tested_of.push_back(all.at(pod));
    std::erase_if(bad,
                  [&](const Way& way) { return concerns(way, pod, side); });
  }
  out.ways = std::move(bad);
  return out;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return -1;
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string decimal(double value) {
  if (value < 0) return "?";  // not measured
  char text[32];
  std::snprintf(text, sizeof text, value < 1 ? "%.3f" : "%.1f", value);
  return text;
}

}  // namespace muster
