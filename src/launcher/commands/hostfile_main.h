// SPDX-License-Identifier: Apache-2.0
// `muster hostfile`: the job's hosts in the dialect of any MPI.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without "hostfile". Exit codes 0, 2, 100.
int hostfile_main(const std::vector<std::string>& args);

}  // namespace muster
