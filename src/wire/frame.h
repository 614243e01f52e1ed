// SPDX-License-Identifier: Apache-2.0
// Frames between launcher and agent: a 12-byte header and a payload.
//
//   offset 0  u32  payload length, big-endian, <= kMaxPayload
//          4  u8   type
//          5  u8   flags (meaning depends on type)
//          6  u16  node: the agent a frame is for or from (0 = launcher)
//          8  u32  id: process or request the frame belongs to
//
// Control payloads are JSON (wire/messages.h); output and stdin are raw bytes.
// Pure: no sockets, no clock. Refuses lengths above kMaxPayload and unknown
// types before buffering anything for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::wire {

constexpr size_t kHeaderSize = 12;
constexpr size_t kMaxPayload = 1 << 20;
constexpr uint16_t kProtocolMin = 1;
constexpr uint16_t kProtocol = 1;

enum class FrameType : uint8_t {
  kHello = 1,         // launcher -> agent: Hello
  kHelloReply = 2,    // agent -> launcher: HelloReply
  kRefused = 3,       // agent -> launcher: Refused; the agent then leaves
  kFactsRequest = 4,  // payload: FactsRequest, or empty
  kFacts = 5,         // NodeFacts
  kProbe = 6,         // ProbeRequest: can this pod resolve and reach …?
  kProbeReply = 7,    // ProbeReply
  kStart = 8,         // StartRequest; id chosen by the launcher, < kAttachedIds
  kStarted = 9,       // Started
  kStartFailed = 10,
  kOutput = 11,        // flags: OutputFlags; payload: i64 time, bytes
  kOutputCredit = 12,  // flags: stream; payload: u32 bytes
  kStdin = 13,         // raw bytes for id
  kStdinEof = 14,
  kStdinCredit = 15,  // payload: u32 bytes
  kExited = 16,       // Exited
  kSignal = 17,       // SignalRequest; id 0: every process of the launch
  kStop = 18,         // StopRequest: TERM, grace, KILL, for everything
  kStopped = 19,      // nothing of this launch is left in the pod
  kHeartbeat = 20,    // both ways; agent's payload: HealthSample
  kAttached = 21,     // agent -> launcher: a rank under a foreign daemon
  kLog = 22,          // agent -> launcher: LogLine about itself
  kBye = 23,          // launcher -> agent: ByeMessage; orderly end
  // Natively started ranks; messages in wire/modex_messages.h.
  kJobMap = 24,      // launcher -> agent: JobMap
  kFence = 25,       // agent -> launcher: FenceCall
  kModexGet = 26,    // both ways: ModexGet
  kModexReply = 27,  // both ways: ModexReply
  kModexData = 28,   // both ways: bytes of the fence, get or reply `id`
  kNames = 29,       // agent -> launcher: NamesRequest
  kNamesReply = 30,  // launcher -> agent: NamesReply
  kRankState = 31,   // agent -> launcher: RankState
  // Where ranks are; messages in wire/stack_messages.h.
  kStackRequest = 40,  // launcher -> agent: StackRequest
  kStackReply = 41,    // agent -> launcher: StackReply
  // An event of a natively started rank (PMIx_Notify_event), as libpmix packs
  // it: agent -> launcher -> all other agents of the job.
  kRankEvent = 42,
  kRanksEnded = 43,  // launcher -> agents whose ranks still run: RanksEnded
  // The ranks that have put their data; asked when a first fence is late.
  kArrivalsRequest = 44,  // launcher -> agent: no payload
  kArrivals = 45,         // agent -> launcher: Arrivals; same id
};

// The agent allots process ids >= this (to ranks that mpirun started and that
// attached through the rank wrapper).
constexpr uint32_t kAttachedIds = 0x80000000;

enum OutputFlags : uint8_t {
  kStdout = 1,
  kStderr = 2,
  kStreamMask = 3,
  kEnd = 8,  // stream has ended; payload may be empty
};

struct Frame {
  FrameType type{};
  uint8_t flags = 0;
  uint16_t node = 0;
  uint32_t id = 0;
  std::string payload;
};

// Appends the encoded frame to `out`.
void encode(const Frame& frame, std::string& out);
// The same without building a Frame (hot path).
void encode(FrameType type, uint8_t flags, uint16_t node, uint32_t id,
            std::string_view payload, std::string& out);

// Joins arriving bytes to whole frames; copies each byte of a payload once.
class FrameReader {
 public:
  // Takes the bytes of the next frame from the front of `bytes`. nullopt: all
  // is taken, and more is needed. An Error (code "protocol") is final: the peer
  // does not speak this protocol.
  Result<std::optional<Frame>> next(std::string_view& bytes);
  // After an error, for "this is what the other side said instead".
  [[nodiscard]] std::string_view refused() const { return refused_; }

 private:
  std::string header_;  // until it and its payload are whole
  Frame frame_;
  size_t missing_ = 0;  // of frame_.payload
  std::string refused_;
};

// kOutput payload helpers. `time_ns` is CLOCK_REALTIME at the source.
std::string output_payload(int64_t time_ns, std::string_view bytes);
struct OutputView {
  int64_t time_ns = 0;
  std::string_view bytes;
};
std::optional<OutputView> parse_output(std::string_view payload);
std::string u32_payload(uint32_t value);
std::optional<uint32_t> parse_u32(std::string_view payload);

}  // namespace muster::wire
