// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/nccl_alarm.h"

namespace muster {

namespace {

constexpr Milliseconds kOthersFollow{2'000};

}  // namespace

NcclAlarm::NcclAlarm(Loop& loop, std::string planned,
                     std::function<void(const Finding&)> tell)
    : watch_(std::move(planned)), tell_(std::move(tell)), timer_(loop) {}

void NcclAlarm::line(int rank, const std::string& pod, std::string_view line) {
  if (told_) return;
  if (watch_.line(rank, pod, line)) {
    timer_.start(kOthersFollow, [this] { tell(); });
  }
}

void NcclAlarm::finish() { tell(); }

void NcclAlarm::tell() {
  timer_.cancel();
  const auto finding = watch_.finding();
  if (told_ || !finding) return;
  told_ = true;
  tell_(*finding);
}

}  // namespace muster
