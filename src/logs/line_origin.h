// SPDX-License-Identifier: Apache-2.0
// Finds the writer of a line. Removes the prefix that launchers put in front of
// a rank's line (mpirun, Hydra, srun, torch, horovodrun, Ray, vLLM, pdsh,
// kubectl, CRI, muster's own text and JSON records) and reads rank, host,
// stream, time and level from it. Refuses nothing: a line without such a prefix
// is all message. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

struct ParsedLine {
  int rank = -1;  // -1: unknown
  std::string host;
  std::string stream;      // "stdout", "stderr"; empty: unknown
  std::string level;       // of a JSON record; empty: unknown
  int64_t time_ns = -1;    // CLOCK_REALTIME; -1: unknown
  bool own_time = false;   // … by the program, not by the keeper of its line
  uint64_t sequence = 0;   // of a JSON record
  bool is_record = false;  // one of muster's JSON records
  bool progress = false;   // a record of a progress bar
  int part = 0;            // of a JSON record in several parts, from 1
  bool last_part = true;
  std::string source;   // a JSON record without a rank: "mpirun"
  std::string message;  // the program's text
};

// Removes at most five prefixes around each other.
ParsedLine parse_line(std::string_view line);

// "2026-01-31T12:34:56.123456789Z", with or without fraction, Z or +01:00, a
// blank for the T; -1 for other text. `used`: the bytes of the time.
int64_t parse_timestamp(std::string_view text, size_t* used = nullptr);

}  // namespace muster
