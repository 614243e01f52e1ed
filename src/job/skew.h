// SPDX-License-Identifier: Apache-2.0
// Compares the pods of a job: the MPI, NCCL, CUDA, driver, image and muster of
// the agents' facts. A difference that breaks the job is an error and stops the
// launch; others are warnings. Skips unknown values. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/finding.h"
#include "job/node_facts.h"

namespace muster {

struct SkewReport {
  std::string table;  // one row per group of equal pods, ends with a newline
  std::vector<Finding> findings;
};

// `allow_skew` (--allow-skew) turns errors into warnings.
SkewReport compare_pods(const std::vector<NodeFacts>& pods,
                        bool allow_skew = false);

// For the programs of one pod: they load different NCCLs. `programs` in the
// order of the line; settings follow the first one's.
std::optional<Finding> nccls_differ(const std::vector<ProgramNccl>& programs);

// The highest CUDA major version that a driver ("550.54") runs: branch 580 and
// later 13, 525 and later 12, 450 and later 11 (NVIDIA's CUDA compatibility
// guide, table of driver version ranges). 0: unknown.
int cuda_major_of_driver(std::string_view driver);

}  // namespace muster
