// SPDX-License-Identifier: Apache-2.0
// The agent as a subcommand; returns the exit code of the process.
#pragma once

namespace muster {

// Frames on stdin and stdout until the launch is over.
int agent_main();

}  // namespace muster
