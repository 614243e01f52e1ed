// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/retry_delay.h"

#include <algorithm>

namespace muster {

namespace {
constexpr Milliseconds kQuick{20};
constexpr Milliseconds kQuickOfMany{100};
constexpr int kPartOfTime = 200;
constexpr Milliseconds kFirst{100};
constexpr Milliseconds kLast{500};
}  // namespace

RetryDelay::RetryDelay(size_t workers)
    : refused_(std::clamp(Milliseconds{static_cast<int64_t>(workers)}, kQuick,
                          kQuickOfMany)) {}

Milliseconds RetryDelay::after(const std::string& code, Clock::time_point now,
                               double chance) {
  if (code != code_ || in_a_row_ == 0) {
    code_ = code;
    since_ = now;
    in_a_row_ = 0;
  }
  ++in_a_row_;
  if (code == "dns_unresolved" || code == "tcp_refused") {
    const auto lasted =
        std::chrono::duration_cast<Milliseconds>(now - since_) / kPartOfTime;
    return std::clamp(lasted, code == "tcp_refused" ? refused_ : kQuick, kLast);
  }
  const auto base = std::min(kFirst * (1 << std::min(in_a_row_ - 1, 4)), kLast);
  return base * 3 / 4 + Milliseconds{static_cast<int64_t>(
                            chance * static_cast<double>(base.count()) / 2)};
}

}  // namespace muster
