// SPDX-License-Identifier: Apache-2.0
// A Python rank that ends in an exception prints it and then cleans up: it
// joins its threads, and MPI_Finalize waits for all other ranks. If these wait
// for it, the job hangs although the log has the cause. Recognises such a rank
// by its last lines, and a program that is over by its stack. Refuses: an
// exception after which the rank still prints, and one that Python says it
// ignores. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/evidence.h"
#include "launcher/model/process_key.h"

namespace muster {

// "ValueError: bad batch 17", if the last lines of a rank, of both streams in
// the order of time, are a traceback and output that belongs to it.
std::optional<std::string> final_exception(
    const std::vector<LineEvidence>& lines);

// "6 /app/train.py", the line and file of its first frame, if that is in the
// main program or in Python's code that runs modules; empty: unknown.
std::string first_frame(const std::vector<LineEvidence>& lines);

struct LeavingPlace {
  bool leaving = false;  // the program's own code is over
  bool known = false;    // false: there are no frames to judge by
  std::string call;      // "ompi_mpi_finalize"; empty: unknown
};

// `frames`: "function (file)", innermost first.
LeavingPlace leaving_place(const std::vector<std::string>& frames);

struct StuckRank {
  int rank = -1;
  std::string host;
  std::string exception;
  std::string call;  // of LeavingPlace
  ProcessKey key;
  int64_t raised_ns = 0;  // CLOCK_REALTIME
  // The exception ended its program, which would exit with 1 if MPI_Finalize
  // came back.
  bool sure = false;
};

// "in PMPI_Finalize after ValueError: bad batch 17"
std::string state_text(const StuckRank& rank);

// "rank 1 on w-1 raised "ValueError: bad batch 17" and does not end: it waits
// for the other ranks in PMPI_Finalize"; at most the first few.
std::string stuck_text(const std::vector<StuckRank>& ranks);

}  // namespace muster
