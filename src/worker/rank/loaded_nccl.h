// SPDX-License-Identifier: Apache-2.0
// The NCCL that a process has loaded, by the files mapped into it, and its
// version if the file's name or pip's metadata has it. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace muster {

struct LoadedNccl {
  std::string path;     // empty: none
  std::string version;  // empty: not cheap to find
};

LoadedNccl loaded_nccl(pid_t pid, const std::string& proc = "/proc");

}  // namespace muster
