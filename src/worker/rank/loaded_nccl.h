// SPDX-License-Identifier: Apache-2.0
// Which NCCL a process has loaded, by the files mapped into it, and its version
// where the file's name or pip's metadata tells. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace muster {

struct LoadedNccl {
  std::string path;     // empty: none
  std::string version;  // empty: not told cheaply
};

LoadedNccl loaded_nccl(pid_t pid, const std::string& proc = "/proc");

}  // namespace muster
