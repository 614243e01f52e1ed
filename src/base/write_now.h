// SPDX-License-Identifier: Apache-2.0
// Writes a line to a descriptor whose reader may be slow, stopped or gone, for
// a process whose loop must never wait for one. A pipe takes at most PIPE_BUF
// bytes whole or not at all (pipe(7)), so one look at it is enough.
#pragma once

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace muster {

// Writes nothing and returns false if there is no room now or no reader. Cuts a
// line longer than PIPE_BUF.
inline bool write_now(int fd, std::string_view line) {
  pollfd ready{fd, POLLOUT, 0};
  if (::poll(&ready, 1, 0) != 1 || ready.revents != POLLOUT) return false;
  std::string cut;
  if (line.size() > PIPE_BUF) {
    cut.assign(line.substr(0, PIPE_BUF - 1)).push_back('\n');
    line = cut;
  }
  return ::write(fd, line.data(), line.size()) >= 0;
}

}  // namespace muster
