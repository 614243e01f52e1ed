// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/output_credit.h"

#include <utility>

namespace muster {

namespace {

constexpr uint64_t kMostExtra = 64 << 20;

}  // namespace

void OutputCredit::forget(StreamKey stream) {
  narrow(stream);
  streams_.erase(stream);
}

void OutputCredit::widen(StreamKey stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.wide) return;
  if (extra_given_ + extra_ > kMostExtra) return;
  found->second.wide = true;
  extra_given_ += extra_;
  if (extra_ > 0) give_(stream.first, stream.second, extra_);
}

void OutputCredit::narrow(StreamKey stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  if (std::exchange(found->second.wide, false)) extra_given_ -= extra_;
}

void OutputCredit::owe(StreamKey stream, uint32_t bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.owed += bytes;
  if (found->second.owed >= step_) due_.insert(stream);
}

void OutputCredit::settle() {
  for (const StreamKey& stream : std::exchange(due_, {})) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) continue;
    give_(stream.first, stream.second, std::exchange(found->second.owed, 0));
  }
}

}  // namespace muster
