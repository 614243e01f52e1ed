// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's driver, MPI and UCX said when they were asked about GPUs, as
// the lines of those who ask them, from a process that holds the driver open:
// to start it takes up to a second or two. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabric/collect/collect_parts.h"

namespace muster {

struct DriverAnswers {
  std::string nvml;
  std::string cuda;    // of the CUDA driver
  std::string mpi;     // of MPI and UCX
  std::string now;     // of NVML, of each GPU that answers at this moment
  int64_t age_ms = 0;  // of all but `now`
};

// False: no GPU answers any more, which says nothing; `pod` is as it was.
bool take_answers(const DriverAnswers& answers, PodFabric& pod);

// One text, and back. nullopt: it was cut.
std::string to_text(const DriverAnswers& answers);
std::optional<DriverAnswers> driver_answers_from_text(std::string_view text);

}  // namespace muster
