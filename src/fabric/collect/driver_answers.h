// SPDX-License-Identifier: Apache-2.0
// The answers of NVIDIA's driver, MPI and UCX about GPUs, as lines of the
// probes that ask them, from a process that holds the driver open: starting it
// takes up to a second or two. Pure.
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
  std::string now;     // of NVML, for each GPU that answers now
  int64_t age_ms = 0;  // of all except `now`
};

// False: no GPU answers any more, which proves nothing; `pod` is unchanged.
bool take_answers(const DriverAnswers& answers, PodFabric& pod);

// One text, and back. nullopt: the text was cut.
std::string to_text(const DriverAnswers& answers);
std::optional<DriverAnswers> driver_answers_from_text(std::string_view text);

}  // namespace muster
