// SPDX-License-Identifier: Apache-2.0
// `muster-agent rank [--] PROGRAM ARG…`: stands between a foreign daemon
// (orted, prted, hydra_pmi_proxy) and the rank it starts, so that muster has
// the rank's output and true exit independently of the daemon. Transparent:
// same stdin, same descriptors, same exit or signal; without an agent above it
// becomes the program. One thread.
#pragma once

#include <string>
#include <vector>

namespace muster {

int rank_main(std::vector<std::string> command);

}  // namespace muster
