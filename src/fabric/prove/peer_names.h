// SPDX-License-Identifier: Apache-2.0
// The names of a job that this pod does not find. The C library's resolver may
// take too long (servers × attempts × 5 s for each name), so it works in a
// thread that is left behind when the time is over.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace muster {

// Those of `names` that resolved to nothing, and the one without an answer at
// `end`; it does not ask or report those behind it. Without a thread to spare
// it asks nothing. Any thread.
std::vector<std::string> unresolved_names(
    std::vector<std::string> names, std::chrono::steady_clock::time_point end);

}  // namespace muster
