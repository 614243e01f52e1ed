// SPDX-License-Identifier: Apache-2.0
// Compares what NCCL logs about its network with the plan. NCCL reports a
// fallback to TCP only at INFO level; NcclLogWatch turns it into a finding.
// Needs NCCL_DEBUG=INFO in the job and sees nothing without it. Pure, and cheap
// enough for every line of every rank.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "job/finding.h"

namespace muster {

// The mark of the lines that NcclLogWatch reads.
inline constexpr std::string_view kNcclMark = "NCCL INFO ";

class NcclLogWatch {
 public:
  // `planned`: the plan's transport, "RoCE", "InfiniBand", "EFA", "TCP", …; ""
  // and "unknown": compares nothing.
  explicit NcclLogWatch(std::string planned);

  // True if this line is the first that differs from the plan.
  bool line(int rank, const std::string& pod, std::string_view line);
  // Nothing while all is as planned.
  [[nodiscard]] std::optional<Finding> finding() const;

 private:
  void take(int rank, const std::string& pod, std::string_view network);

  std::string planned_;
  std::set<int> on_ib_;    // said "NET/IB : Using": not yet a fallback
  std::set<int> checked_;  // ranks that named a network
  std::set<int> astray_;
  std::set<std::string> pods_;  // their hosts
  std::string network_;         // the network of the first of them
  std::string evidence_;        // its line
};

}  // namespace muster
