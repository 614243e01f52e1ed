// SPDX-License-Identifier: Apache-2.0
// The subcommands of muster-agent. Each returns the exit code of the process.
#pragma once

namespace muster {

// Frames on stdin and stdout until the launch is over.
int agent_main();
// Internal helpers of the agent: JSON on stdin and stdout.
int facts_main();
int probe_main();

}  // namespace muster
