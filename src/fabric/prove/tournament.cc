// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/tournament.h"

#include <algorithm>

namespace muster {

namespace {

// The circle method: the last seat is fixed, the others move on by one. With an
// odd number of pods one rests. The two pods of a pair drive in turn.
TestRound round_of(size_t pods, size_t round) {
  TestRound out;
  const size_t seats = pods + pods % 2;
  const size_t wheel = seats - 1;
  for (size_t i = 0; i < seats / 2; ++i) {
    size_t a = i == 0 ? wheel : (round + i) % wheel;
    size_t b = (round + wheel - i) % wheel;
    if (a >= pods || b >= pods) continue;
    if (round % 2 == 1) std::swap(a, b);
    out.emplace_back(a, b);
  }
  return out;
}

}  // namespace

std::vector<TestRound> tournament(size_t pods, size_t most_rounds) {
  std::vector<TestRound> out;
  if (pods < 2) return out;
  const size_t all = pods + pods % 2 - 1;
  const size_t rounds = std::min(all, std::max<size_t>(most_rounds, 1));
  for (size_t i = 0; i < rounds; ++i) {
    out.push_back(round_of(pods, i * all / rounds));
  }
  return out;
}

}  // namespace muster
