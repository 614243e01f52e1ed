// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/grown_errors.h"

#include <utility>

namespace muster {

namespace {

constexpr std::chrono::seconds kBetweenLooks{5};

}  // namespace

GrownErrors::GrownErrors(std::string root) : root_(std::move(root)) {}

const std::vector<std::string>& GrownErrors::at(Time now) {
  if (looked_ && now - last_ < kBetweenLooks) return grown_;
  last_ = now;
  Counters counters = read_counters(root_);
  if (!std::exchange(looked_, true)) {
    before_ = std::move(counters);
    return grown_;
  }
  grown_.clear();
  for (const GrownCounter& counter : grown_counters(before_, counters)) {
    if (counters_tell_loss({counter})) {
      grown_.push_back(counters_text({counter}));
    }
  }
  return grown_;
}

}  // namespace muster
