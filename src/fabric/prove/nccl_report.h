// SPDX-License-Identifier: Apache-2.0
// The results of `muster fabric nccl`, for people and programs: bus bandwidth
// by number of nodes, NCCL alone compared with the job's settings, and the
// needs of common classes of models. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct NcclStep {
  int nodes = 0;
  int ranks = 0;
  double seconds = -1;  // of one all-reduce
  // Bytes that each rank must move, by that time, as in nccl-tests; GB/s. -1
  // for one rank, which moves nothing.
  [[nodiscard]] double bus_gigabytes() const;
};

// "step 2 16 1048576", of a rank: nodes, ranks and nanoseconds. Nothing for any
// other line, and if a number is missing or out of range.
std::optional<NcclStep> nccl_step_in(std::string_view line);

struct NcclFigures {
  std::string version;
  std::string library;                // the opened file
  std::vector<std::string> settings;  // names that muster set for the job
  std::vector<NcclStep> alone;        // without those; empty if there are none
  std::vector<NcclStep> set;          // as the job runs
};

std::string nccl_figures_text(const NcclFigures& figures);
std::string nccl_figures_json(const NcclFigures& figures);

}  // namespace muster
