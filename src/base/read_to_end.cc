// SPDX-License-Identifier: Apache-2.0
#include "base/read_to_end.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster {

std::string read_to_end(int fd, size_t limit) {
  std::string out;
  std::array<char, 65536> part;
  while (out.size() <= limit) {
    const ssize_t n = ::read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    out.append(part.data(), static_cast<size_t>(n));
  }
  return out;
}

}  // namespace muster
