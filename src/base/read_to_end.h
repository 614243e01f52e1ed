// SPDX-License-Identifier: Apache-2.0
// What a process is given on stdin, or a file that was opened with care: read
// until it ends. Blocks; a deadline is the caller's, who ends the process.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

// Up to the end, or to an error. What is longer than `limit` bytes comes as
// more than that many, so that the caller can tell; the rest is not read.
// EINTR is retried.
std::string read_to_end(int fd, size_t limit);

}  // namespace muster
