// SPDX-License-Identifier: Apache-2.0
// Whether this process runs under a launcher that runs commands on workers for
// it: the environment has the launcher's socket.
#pragma once

#include <sys/stat.h>

#include <cstdlib>

namespace muster {

inline bool has_launcher_socket() {
  const char* path = std::getenv("MUSTER_LAUNCHER_SOCKET");
  struct stat info {};
  return path != nullptr && ::stat(path, &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace muster
