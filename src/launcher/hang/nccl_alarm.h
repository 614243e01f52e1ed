// SPDX-License-Identifier: Apache-2.0
// NcclAlarm: watches the ranks' lines for NCCL's reports about its network, and
// logs once what differs from the plan: a moment after the first such line, so
// that it can name all the pods, or when the ranks are over. Lives on the loop.
// Owns its timer.
#pragma once

#include <functional>
#include <string>

#include "base/loop.h"
#include "fabric/nccl_log.h"

namespace muster {

class NcclAlarm {
 public:
  NcclAlarm(Loop& loop, std::string planned,
            std::function<void(const Finding&)> tell);

  void line(int rank, const std::string& pod, std::string_view line);
  // No more lines will come.
  void finish();

 private:
  void tell();

  NcclLogWatch watch_;
  std::function<void(const Finding&)> tell_;
  Timer timer_;
  bool told_ = false;
};

}  // namespace muster
