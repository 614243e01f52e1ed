// SPDX-License-Identifier: Apache-2.0
// ProcessOutput: the two output streams of one process of the job, and the
// parts common to all of their lines. Plain values: RankOutput does the work.
// Loop thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/loop.h"
#include "launcher/output/line_tail.h"
#include "launcher/output/record_format.h"
#include "launcher/output/verbatim.h"
#include "logs/line_grouper.h"
#include "logs/line_splitter.h"
#include "logs/masker.h"

namespace muster {

struct ProcessStream {
  ProcessStream(uint8_t stream, size_t tail_lines, size_t tail_bytes,
                Milliseconds progress_interval);

  uint8_t flag;         // wire::kStdout or wire::kStderr
  LineOrigin origin;    // its views are of the process and of this
  std::string json;     // json_origin()
  std::string mpi_tag;  // mpi_tag()
  std::string ready;    // formatted, for stdout or stderr
  std::string raw;      // for the per-rank file
  uint64_t sequence = 0;
  int64_t time_ns = 0;
  bool within = false;  // the line goes on with the next piece
  bool ended = false;
  LineTail tail;
  LineGrouper grouper;
  uint32_t held = 0;  // credit of held text
  MaskState mask;
  LineSplitter splitter;
  Verbatim verbatim;  // plain format without labels
};

struct ProcessOutput {
  struct Look {
    bool color = false;
    MpiTags tags = MpiTags::kNone;
    Milliseconds progress_interval{0};
    size_t tail_bytes = 16 << 10;  // of each stream's LineTail
  };

  // rank -1: `source` says who it is.
  ProcessOutput(int rank, std::string source, std::string host, Look look);
  ProcessOutput(const ProcessOutput&) = delete;
  ProcessOutput& operator=(const ProcessOutput&) = delete;

  ProcessStream& stream(uint8_t flag);
  [[nodiscard]] std::string file_name(uint8_t flag) const;

  int rank;
  std::string source;
  std::string host;
  std::string tag;  // text_tag()
  Clock::time_point heard = Clock::now();
  bool raised = false;  // wrote a traceback that was not looked at yet
  ProcessStream out;
  ProcessStream err;
};

}  // namespace muster
