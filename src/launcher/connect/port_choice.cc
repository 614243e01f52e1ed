// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/port_choice.h"

#include <utility>

namespace muster {

int PortChoice::next(Clock::time_point now) {
  constexpr int kOther = 22;
  if (!try_other_) return usual_;
  if (!std::exchange(dialled_, true)) due_ = now + gap_;
  if (now < due_) return usual_;
  gap_ *= 2;
  due_ = now + gap_;
  return kOther;
}

}  // namespace muster
