// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/memory_watch.h"

#include <utility>

namespace muster {

namespace {

constexpr Milliseconds kOften{100};
// Telling page cache from the rest costs the kernel a walk over its counters.
constexpr Milliseconds kSeldom{1'000};

}  // namespace

bool worth_telling(int64_t usage, int64_t told, int64_t limit) {
  return limit > 0 && usage >= limit / 4 * 3 && usage - told >= limit / 64;
}

MemoryWatch::MemoryWatch(Loop& loop, const HealthSampler& health,
                         std::function<void()> near_limit)
    : health_(health), near_limit_(std::move(near_limit)), timer_(loop) {}

void MemoryWatch::start() {
  timer_.start(kOften, [this] { look(); });
}

void MemoryWatch::stop() { timer_.cancel(); }

void MemoryWatch::told(const wire::HealthSample& sample) {
  told_ = sample.memory_bytes;
  limit_ = sample.memory_limit;
}

void MemoryWatch::look() {
  Milliseconds next = limit_ > 0 ? kOften : kSeldom;
  if (worth_telling(health_.memory_charge(), told_, limit_)) {
    if (worth_telling(health_.memory_usage(), told_, limit_)) {
      near_limit_();
    } else {
      next = kSeldom;  // it is page cache
    }
  }
  timer_.start(next, [this] { look(); });
}

}  // namespace muster
