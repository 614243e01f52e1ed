// SPDX-License-Identifier: Apache-2.0
// Which names of a job this pod does not find. The C library's resolver has no
// end of its own that fits in here (servers × attempts × 5 s for each name), so
// it works in a thread that is left behind when the time is over.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace muster {

// The names of `names` that resolved to nothing, and the one whose answer was
// still waited for at `end`; those behind it were not asked and are not told.
// Where no thread can be had nothing is asked. Any thread.
std::vector<std::string> unresolved_names(
    std::vector<std::string> names, std::chrono::steady_clock::time_point end);

}  // namespace muster
