// SPDX-License-Identifier: Apache-2.0
// Runs one program as pid 1 of a container must: reaps orphans, forwards
// signals, and ends with the program's own status. Does not outlive the
// program: the kernel ends its leftovers with pid 1. One thread, one loop.
#pragma once

#include <string>
#include <vector>

namespace muster {

// Blocks until argv[0] (looked up in PATH) has ended. Returns its exit code,
// 128+N if signal N killed it, 126 or 127 (with a line on stderr) if it could
// not be started. Does not forward signals that a terminal sends to its whole
// foreground group: the program has them already.
int run_as_init(const std::vector<std::string>& argv);

// Becomes argv[0]; returns only if that fails, with 126 or 127 as above.
int become(const std::vector<std::string>& argv);

}  // namespace muster
