// SPDX-License-Identifier: Apache-2.0
// `muster fabric mpi`: ping-pong and allreduce through the job's own MPI, and a
// judgement of the figures. mpi_rank_main() is one rank of it, started by
// `muster launch`; rank 0 prints.
#pragma once

#include <string>

namespace muster {

struct MpiFigures {
  std::string library;  // "Open MPI v4.1.4"
  std::string host;     // of rank 0 and of its partner
  std::string partner;
  int ranks = 0;
  double latency_us = -1;    // 8 bytes, one way
  double gbps = -1;          // 1 MiB messages, one way
  double small_sum_us = -1;  // allreduce of 8 bytes
  double large_sum_ms = -1;  // … and of 16 MiB
};

// The lines for people. Pure.
std::string mpi_figures_text(const MpiFigures& figures);

// The same for programs: one JSON object on a line. Pure.
std::string mpi_figures_json(const MpiFigures& figures);

int mpi_rank_main(bool json);

}  // namespace muster
