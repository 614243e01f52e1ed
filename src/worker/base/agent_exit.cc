// SPDX-License-Identifier: Apache-2.0
#include "worker/base/agent_exit.h"

namespace muster {

namespace {

int64_t microseconds(const timeval& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
}

}  // namespace

wire::Exited to_exited(const ChildExit& exit) {
  wire::Exited out;
  out.wait_status = exit.wait_status;
  out.user_us = microseconds(exit.usage.ru_utime);
  out.system_us = microseconds(exit.usage.ru_stime);
  out.max_rss_kib = exit.usage.ru_maxrss;
  return out;
}

}  // namespace muster
