// SPDX-License-Identifier: Apache-2.0
// The process of a rank to examine: for `sh -c "python …"` the shell's only
// child. Reads /proc; a process that has ended has no values. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace muster {

// Of /proc/PID/stat.
struct ProcessStat {
  std::string name;
  std::string state;
  int threads = 0;
};

ProcessStat process_stat(pid_t pid);

// `pid`, or the process that shells and wrappers have started, at most four
// deep.
pid_t program_of(pid_t pid);

// CPU time, and bytes read and written, of a process and its children,
// including ended ones; -1: unknown. Looks at 64 processes at most.
struct ProcessUse {
  int64_t cpu_ms = -1;
  int64_t io_bytes = -1;
};
ProcessUse use_of_tree(pid_t pid);

// /proc/PID/environ of program_of(pid), at most 1 MiB.
std::string program_environ(pid_t pid);

}  // namespace muster
