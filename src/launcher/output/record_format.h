// SPDX-License-Identifier: Apache-2.0
// Formats one line of one rank: text for people, plain as mpirun prints it, or
// a JSON record of at most 4 KiB (CRI-O cuts a line at 8 KiB; PIPE_BUF is 4
// KiB). Field names: docs/log-schema.md. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

enum class LogFormat { kText, kPlain, kJson };

constexpr size_t kMaxRecord = 4096;

struct LineOrigin {
  int rank = -1;            // -1: not a rank (mpirun itself, a tool)
  std::string_view source;  // "mpirun", "script": the writer, if not a rank
  std::string_view host;
  std::string_view stream;  // "stdout", "stderr"
  std::string_view level = "info";
  bool progress = false;     // a state of a progress bar
  std::string_view tag;      // text_tag() of it; empty: made anew
  std::string_view json;     // json_origin() of it; empty: made anew
  std::string_view mpi_tag;  // plain format only: mpi_tag() of it
  bool color = false;        // text format only
  int part = 0;              // parts of this line that are already written
  bool more = false;         // the rest of this line comes with the next call
};

// "[12|host] ", coloured on request; the same for all lines of a process.
std::string text_tag(const LineOrigin& origin);

// The fields rank, host and stream of a JSON record; the same for all lines of
// a stream.
std::string json_origin(const LineOrigin& origin);

// The launcher whose labels plain lines carry, as `mpirun --tag-output` or
// `mpiexec -l` asks for.
enum class MpiTags { kNone, kOpenMpi, kOpenMpi5, kHydra };

// "[1,12]<stdout>:", "[12] "; nothing for a process that is not a rank. A blank
// follows from Open MPI 5 on.
std::string mpi_tag(MpiTags tags, const LineOrigin& origin);

// Appends `line` (without its newline) in `format`, with its tags. `sequence`
// counts lines of this stream from 1. A JSON line longer than kMaxRecord comes
// in numbered parts. Returns how many parts of the line are written now
// (origin.part of the next call); 0: it was whole.
int append_record(std::string& out, LogFormat format, const LineOrigin& origin,
                  int64_t time_ns, uint64_t sequence, std::string_view line);

}  // namespace muster
