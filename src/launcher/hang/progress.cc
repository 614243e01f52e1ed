// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/progress.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "logs/line_folder.h"
#include "stacks/frame_names.h"
#include "stacks/process_stack.h"

namespace muster {

namespace {

// Below these a rank polls, and its threads send their heartbeats.
constexpr int64_t kBusyPercent = 5;
constexpr int64_t kBusyBytes = 64 << 10;  // a second
constexpr size_t kMaxReasons = 4;

// A rank's use between two looks; nullopt: unknown.
struct Used {
  std::optional<int64_t> cpu_percent;
  std::optional<int64_t> bytes;  // a second
};

// From the end of the first look, whose questions cost the rank something.
std::optional<int64_t> grown(int64_t before, int64_t before_after,
                             int64_t now) {
  const int64_t from = before_after >= 0 ? before_after : before;
  return from >= 0 && now >= from ? std::optional(now - from) : std::nullopt;
}

Used used(const wire::RankStack& before, const wire::RankStack& now,
          int64_t milliseconds) {
  Used out;
  const int64_t ms = std::max<int64_t>(milliseconds, 1);
  const auto cpu = grown(before.cpu_ms, before.cpu_ms_after, now.cpu_ms);
  const auto io = grown(before.io_bytes, before.io_bytes_after, now.io_bytes);
  if (cpu) out.cpu_percent = *cpu * 100 / ms;
  if (io) out.bytes = *io * 1000 / ms;
  return out;
}

// The walk has come to where the program began, or as far as it goes.
bool whole(const wire::RankStack& stack) {
  if (stack.frames.empty()) return false;
  const std::string& outermost = stack.frames.back();
  return stack.frames.size() >= StackReader::kMaxFrames ||
         is_start(outermost) || function_of(outermost) == "main";
}

// Both are in the same place as far as known: from the call in which it may
// wait outwards, else from the innermost frame on.
bool same_place(const wire::RankStack& one, size_t one_from,
                const wire::RankStack& other, size_t other_from) {
  const size_t length =
      std::min(one.frames.size() - one_from, other.frames.size() - other_from);
  const auto at = [](const wire::RankStack& stack, size_t from) {
    return stack.frames.begin() + static_cast<std::ptrdiff_t>(from);
  };
  return std::equal(at(one, one_from), at(one, one_from + length),
                    at(other, other_from));
}

// While a communicator is made, NCCL has the driver load its kernels, here or
// on a thread for which this one sleeps; one that waits for others spins.
bool sets_up(const wire::RankStack& stack, size_t call) {
  if (call_kind(function_of(stack.frames[call])) != CallKind::kSetUp) {
    return false;
  }
  if (stack.state == "S") return true;
  return std::any_of(stack.frames.begin(),
                     stack.frames.begin() + static_cast<std::ptrdiff_t>(call),
                     [](const std::string& frame) {
                       const auto file = file_of(frame);
                       return file.starts_with("libcuda") ||
                              file.starts_with("libnv") ||
                              file.starts_with("libamdhip") ||
                              file.starts_with("libhsa");
                     });
}

// The call in which it may wait for others: a GPU alone is no other.
std::optional<size_t> waiting_call(const wire::RankStack& stack, bool alone) {
  const auto call = call_at(stack.frames);
  const bool device =
      call && call_kind(function_of(stack.frames[*call])) == CallKind::kDevice;
  return device && alone ? std::nullopt : call;
}

RankDoing works(std::string why, bool in_call) {
  return {Doing::kWorks, std::move(why), in_call};
}

// For a rank whose stack cannot be read.
RankDoing by_counters(const wire::RankStack& now, const Used& use) {
  const bool idle = use.cpu_percent && *use.cpu_percent < kBusyPercent;
  // No call of MPI or NCCL leaves one in those states.
  if (idle || now.state == "D" || now.state == "T") {
    return {Doing::kRests, {}, false};
  }
  return {Doing::kUnknown, {}, false};
}

// For a rank whose stack was the same at both looks. `again`: it is in the same
// call, but that has come back meanwhile.
RankDoing by_stack(const wire::RankStack& now, std::optional<size_t> call,
                   bool again, const Used& use) {
  const bool busy = use.cpu_percent.value_or(0) >= kBusyPercent;
  if (call) {
    if (again) return works("new calls", true);
    if (busy && sets_up(now, *call)) {
      return works("set-up of communication", true);
    }
    return {Doing::kWaits, {}, true};
  }
  // Frames beyond a broken walk may hide a call.
  if (!whole(now)) return by_counters(now, use);
  if (busy || (!use.cpu_percent && now.state == "R")) {
    return works("CPU time", false);
  }
  return {Doing::kRests, {}, false};
}

RankDoing doing_of(const wire::RankStack* before, const wire::RankStack& now,
                   int64_t milliseconds, bool alone) {
  const auto call = waiting_call(now, alone);
  if (before == nullptr || before->pid != now.pid) {
    return works("a start", call.has_value());
  }
  const Used use = used(*before, now, milliseconds);
  if (use.bytes.value_or(0) >= kBusyBytes) {
    return works("I/O", call.has_value());
  }
  if (now.frames.empty() || before->frames.empty()) {
    return by_counters(now, use);
  }
  const auto call_before = waiting_call(*before, alone);
  const bool outside = !call && !call_before && whole(now) && whole(*before);
  if (outside && use.cpu_percent.value_or(0) >= kBusyPercent) {
    return works("CPU time", false);
  }
  if (call.has_value() == call_before.has_value() &&
      same_place(*before, call_before.value_or(0), now, call.value_or(0))) {
    const bool marked = !before->mark.empty() && !now.mark.empty();
    return by_stack(now, call, marked && !same_mark(before->mark, now.mark),
                    use);
  }
  // A broken walk proves nothing by itself.
  if (whole(now) && whole(*before))
    return works("other calls", call.has_value());
  if (whole(now)) return by_stack(now, call, false, use);
  if (whole(*before)) return by_stack(*before, call_before, false, use);
  return by_counters(now, use);
}

using LastCalls = std::map<std::tuple<int, std::string, std::string>, int64_t>;

LastCalls last_calls(const std::vector<wire::FlightRecord>& records) {
  LastCalls out;
  for (const wire::FlightRecord& record : records) {
    for (const wire::FlightGroup& group : record.groups) {
      out[{record.rank, group.name, group.members}] = group.last;
    }
  }
  return out;
}

bool calls_moved(const HangLook& first, const HangLook& second) {
  const LastCalls before = last_calls(first.records);
  const LastCalls now = last_calls(second.records);
  return std::any_of(now.begin(), now.end(), [&before](const auto& one) {
    const auto found = before.find(one.first);
    return found != before.end() && found->second != one.second;
  });
}

// "CPU time (ranks 0-1), I/O (rank 2)"
std::string works_text(const std::map<int, RankDoing>& ranks) {
  std::map<std::string, std::set<int>> by_reason;
  for (const auto& [rank, one] : ranks) {
    if (one.doing == Doing::kWorks) by_reason[one.why].insert(rank);
  }
  std::string text;
  size_t told = 0;
  for (const auto& [why, of] : by_reason) {
    if (told++ == kMaxReasons) break;
    text += (text.empty() ? "" : ", ") + why +
            (of.size() == 1 ? " (rank " : " (ranks ") + rank_set_text(of) + ")";
  }
  return text;
}

}  // namespace

Judgement judge(const HangLook& first, const HangLook& second,
                int64_t milliseconds, bool lines) {
  std::map<int, const wire::RankStack*> before;
  for (const PlacedStack& one : first.stacks) {
    before[one.stack.rank] = &one.stack;
  }
  Judgement out;
  const bool alone = second.stacks.size() == 1;
  std::set<Doing> seen;
  for (const PlacedStack& one : second.stacks) {
    const auto found = before.find(one.stack.rank);
    RankDoing doing = doing_of(found == before.end() ? nullptr : found->second,
                               one.stack, milliseconds, alone);
    seen.insert(doing.doing);
    out.ranks[one.stack.rank] = std::move(doing);
  }
  out.why = works_text(out.ranks);
  const auto also = [&out](const char* text) {
    out.why = text + (out.why.empty() ? "" : ", " + out.why);
    out.progress = Progress::kWorks;
  };
  if (seen.count(Doing::kWorks) > 0) {
    out.progress = Progress::kWorks;
  } else if (seen.count(Doing::kUnknown) > 0 || seen.empty()) {
    out.progress = Progress::kUnknown;
  } else {
    out.progress =
        seen.count(Doing::kWaits) > 0 ? Progress::kHangs : Progress::kRests;
  }
  if (first.nccl_answered && second.nccl_answered &&
      first.nccl_counts != second.nccl_counts) {
    also("NCCL's operation counts");
  }
  if (calls_moved(first, second)) also("PyTorch's collectives");
  if (lines) also("lines");
  return out;
}

}  // namespace muster
