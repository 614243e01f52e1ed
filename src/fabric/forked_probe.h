// SPDX-License-Identifier: Apache-2.0
// Questions to libraries that may crash or hang: asked in a forked child that
// writes lines, read until a deadline; then the child is killed and reaped.
// Every line that was complete by then counts. Blocks the caller.
#pragma once

#include <functional>
#include <string>

namespace muster {

// `child` writes to its descriptor and returns; "" if there was no child.
std::string forked_probe(int deadline_ms,
                         const std::function<void(int)>& child);
// One line; for the child.
void probe_says(int fd, const std::string& line);

}  // namespace muster
