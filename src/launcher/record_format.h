// SPDX-License-Identifier: Apache-2.0
// How one line of one rank looks: text for people, plain as mpirun prints it,
// or a JSON record of at most 4 KiB (CRI-O cuts a line at 8 KiB; PIPE_BUF is
// 4 KiB). Field names: docs/log-schema.md. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

enum class LogFormat { kText, kPlain, kJson };

constexpr size_t kMaxRecord = 4096;

struct LineOrigin {
  int rank = -1;             // -1: not a rank (mpirun itself, a tool)
  std::string_view source;   // "mpirun", "script": who, if not a rank
  std::string_view host;
  std::string_view stream;   // "stdout", "stderr"
  std::string_view level = "info";
  bool progress = false;     // a state of a progress bar
  bool color = false;        // text format only
};

// Appends `line` (without its newline) in `format`, with everything that goes
// around it. `sequence` counts lines of this stream from 1. JSON lines that
// would be longer than kMaxRecord come in numbered parts.
void append_record(std::string& out, LogFormat format, const LineOrigin& origin,
                   int64_t time_ns, uint64_t sequence, std::string_view line);

}  // namespace muster
