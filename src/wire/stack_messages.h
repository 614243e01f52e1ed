// SPDX-License-Identifier: Apache-2.0
// The question for the ranks' stacks and the answer: the two frames of `muster
// stack` and --hang-timeout, with their JSON forms. Decoders are strict about
// types and lenient about unknown fields, as in wire/messages.h. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/frame.h"

namespace muster::wire {

// Existing records only; or a new record, if a rank writes one on request.
constexpr int kFlightRead = 1;
constexpr int kFlightAsk = 2;

struct StackRequest {
  std::vector<int> ranks;  // empty: all of the agent's
  int signal = 0;          // also sent to them (Python's faulthandler); 0: none
  int nccl = 0;            // 1: ask NCCL, too
  int flight = 0;          // PyTorch's recorder: kFlightRead, kFlightAsk
  // "RANK LINE FILE": where the traceback that a rank printed begins. Asks
  // whether its program is over by it.
  std::vector<std::string> raised;
};

struct RankStack {
  int rank = -1;
  int pid = 0;          // of the process in question: a shell's only child, say
  std::string program;  // its name
  std::string state;    // "R", "S", "D", … as in /proc/PID/stat
  int threads = 0;
  std::vector<std::string> frames;  // "function (file)", innermost first
  std::string problem;              // why there are no frames
  int uncaught = 0;  // 1: the exception (StackRequest::raised) was not caught
  // Of it and its children, so far; -1: unknown. Read again after all answers,
  // since a requested record costs it some.
  int64_t cpu_ms = -1;
  int64_t io_bytes = -1;  // read and written
  int64_t cpu_ms_after = -1;
  int64_t io_bytes_after = -1;
  // Hash of the callers of the call in which it may wait for others
  // (call_at()): constant for as long as that call goes on. Empty: unknown.
  std::string mark;
};

struct StackReply {
  std::vector<RankStack> ranks;
  std::vector<std::string> addresses;  // of the pod
  std::string nccl;                    // its report on the whole job; may be ""
  std::string flight;  // FlightRecords of the pod's ranks as JSON; may be ""
};

std::string to_json(const StackRequest&);
// At most kMaxPayload bytes: drops outer frames if names are long.
std::string to_json(const StackReply&);
// Error code "protocol".
Result<StackRequest> stack_request_from_json(std::string_view text);
Result<StackReply> stack_reply_from_json(std::string_view text);

}  // namespace muster::wire
