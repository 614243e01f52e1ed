// SPDX-License-Identifier: Apache-2.0
// Decides whether the ranks make progress, by two looks at them, some seconds
// apart. Ranks hang if nothing moves in between while some wait for others in a
// call of MPI, NCCL and the like. CPU time shows work outside of such a call
// only: ranks spin in it. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/hang/stack_groups.h"
#include "wire/flight_messages.h"

namespace muster {

// One look at the job.
struct HangLook {
  std::vector<PlacedStack> stacks;
  bool nccl_answered = false;
  std::vector<uint64_t> nccl_counts;  // of operations, by NCCL
  std::vector<wire::FlightRecord> records;
};

enum class Doing {
  kWorks,
  kWaits,    // for others, in a call that has not come back
  kRests,    // neither: asleep, or in a read that gives nothing
  kUnknown,  // its stack cannot be read, and it may be at work
};

struct RankDoing {
  Doing doing = Doing::kUnknown;
  std::string why;       // of kWorks, what moves: "CPU time"
  bool in_call = false;  // a call in which it may wait for others
};

enum class Progress {
  kWorks,    // some rank gets on, or a counter
  kHangs,    // some wait for others, and nothing moves
  kRests,    // no rank waits for others, and nothing moves
  kUnknown,  // stacks cannot be read
};

struct Judgement {
  Progress progress = Progress::kUnknown;
  std::map<int, RankDoing> ranks;  // of the second look
  std::string why;  // of kWorks, what moves: "CPU time (ranks 0-1)"
};

// `milliseconds` lie between the looks; `lines`: ranks printed in that time.
Judgement judge(const HangLook& first, const HangLook& second,
                int64_t milliseconds, bool lines);

}  // namespace muster
