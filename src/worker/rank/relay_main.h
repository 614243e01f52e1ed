// SPDX-License-Identifier: Apache-2.0
// `muster-agent ssh …`: mpirun's ssh. Passes the command to the launcher over a
// Unix socket and copies stdin, stdout and stderr until it has ended. Exits
// with the command's code, 128+N for a signal, 255 with a sentence when it
// could not run. Writes before it reads on, so it holds at most one frame. One
// thread, poll().
#pragma once

#include <string>
#include <vector>

namespace muster {

int relay_main(const std::vector<std::string>& args);

}  // namespace muster
