// SPDX-License-Identifier: Apache-2.0
// The collectives of a rank from PyTorch's flight recorder, cut down to what
// shows which rank waits for which, with its JSON form: from the helper process
// that reads the dumps, through the agent, to the launcher. Texts come from the
// program: printable, and short. Decoders are strict about types and lenient
// about unknown fields. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::wire {

enum class FlightState { kScheduled, kStarted, kCompleted };

struct FlightCall {
  int64_t seq = 0;        // of its group
  std::string operation;  // "all_reduce"
  FlightState state = FlightState::kScheduled;
  int64_t called_ns = 0;  // realtime; 0: unknown
  int64_t elements = -1;  // of all inputs; -1: unknown
  std::string type;       // of the first input: "Float"
  std::string shape;      // likewise: "[1024, 8]"
  std::string place;      // of the user's call: "train.py:88 (step)"
};

// The part of a call in which ranks must agree, and the call's place.
struct FlightKind {
  std::string operation;
  std::string type;
  int64_t elements = -1;
  std::string shape;
  std::string place;
  auto operator<=>(const FlightKind&) const = default;
};

struct FlightGroup {
  std::string name;         // as PyTorch counts or hashes them
  std::string description;  // "default_pg", or the program's name for it
  // Split groups may share a name: with this it is the same on all ranks.
  std::string members;
  std::vector<int> ranks;         // empty: unknown, or in another record
  int64_t last = 0;               // sequence number of the last call
  std::vector<FlightCall> calls;  // in order; those around its position
  // All recorded calls from number `from` on, as indices into `kinds`; -1: not
  // recorded. Empty if too long, or from an older agent.
  int64_t from = 0;
  std::vector<FlightKind> kinds;
  std::vector<int> sequence;
};

struct FlightRecord {
  int rank = -1;
  int64_t written_ns = 0;  // the file, realtime
  bool whole = false;      // nothing has left the recorder's ring yet
  std::vector<FlightGroup> groups;
  std::string problem;  // why it is unreadable
};

// The question to the helper: the record of one rank.
struct FlightPlace {
  int rank = -1;
  int64_t since_ns = 0;            // older files are of another job
  std::vector<std::string> files;  // any of them, the newest
  std::vector<std::string> pipes;  // to ask for a new one
};

struct FlightRequest {
  bool ask = false;  // write to the pipes first
  std::vector<FlightPlace> places;
};

// At most `limit` bytes: drops sequences, then calls, then groups in which its
// rank does not wait, and at last everything.
std::string to_json(std::vector<FlightRecord> records, size_t limit);
std::string to_json(const FlightRequest& request);
// Error code "protocol".
Result<std::vector<FlightRecord>> flight_records_from_json(
    std::string_view text);
Result<FlightRequest> flight_request_from_json(std::string_view text);

// The calls of a group around its rank's position: `before` ahead of the first
// that is not over, and as many from there on.
void keep_telling_calls(FlightGroup& group, size_t before);

FlightKind kind_of(const FlightCall& call);
// Fills from, kinds and sequence from the calls.
void note_sequence(FlightGroup& group);

}  // namespace muster::wire
