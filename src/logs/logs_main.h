// SPDX-License-Identifier: Apache-2.0
// `muster logs [FILE|-]`: reads back the log of a launch (JSON records, tagged
// text, or the output of other launchers), filters it, prints text or JSON.
// Streams: memory does not grow with the log. Returns 0, 1 (unreadable, or
// stdout closed) or 2 (usage).
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without the command's own name.
int logs_main(const std::vector<std::string>& args);

}  // namespace muster
