// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/waiting_pace.h"

#include <initializer_list>

namespace muster {

namespace {

constexpr Milliseconds kBetweenChanges{10'000};

Milliseconds next_after(Milliseconds waited) {
  constexpr Milliseconds kDoublesFrom{60'000};
  for (const Milliseconds at : {Milliseconds{10'000}, Milliseconds{30'000}}) {
    if (waited < at) return at;
  }
  Milliseconds at = kDoublesFrom;
  while (at <= waited) at *= 2;
  return at;
}

}  // namespace

bool WaitingPace::due(Milliseconds waited, const std::string& line) {
  const bool changed =
      !said_.empty() && line != said_ && waited - said_at_ >= kBetweenChanges;
  if (waited < next_ && !changed) return false;
  said_ = line;
  said_at_ = waited;
  next_ = next_after(waited);
  return true;
}

}  // namespace muster
