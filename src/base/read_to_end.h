// SPDX-License-Identifier: Apache-2.0
// Reads a process's stdin, or a file that was opened with care, to its end.
// Blocks; a caller with a deadline ends the process.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

// Up to the end, or to an error. A text longer than `limit` bytes comes with
// more than that many, so that the caller can tell; the rest is not read.
// Retries EINTR.
std::string read_to_end(int fd, size_t limit);

}  // namespace muster
