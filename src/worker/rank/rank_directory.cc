// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/rank_directory.h"

#include <sys/stat.h>
#include <unistd.h>

namespace muster {

namespace {

bool can_enter(const std::string& directory) {
  struct stat status {};
  return !directory.empty() && ::stat(directory.c_str(), &status) == 0 &&
         S_ISDIR(status.st_mode) && ::access(directory.c_str(), X_OK) == 0;
}

}  // namespace

std::string rank_directory(const std::string& cwd,
                           const std::string& cwd_if_there) {
  if (!cwd.empty()) return cwd;
  return can_enter(cwd_if_there) ? cwd_if_there : "";
}

}  // namespace muster
