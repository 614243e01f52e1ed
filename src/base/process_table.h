// SPDX-License-Identifier: Apache-2.0
// Reads /proc for a supervisor's view of processes that are not its direct
// children. The root of proc is a parameter for tests.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Pids (other than ours) whose initial environment has NAME=VALUE. Processes of
// other users are invisible and skipped.
std::vector<pid_t> processes_with_env(std::string_view name,
                                      std::string_view value,
                                      const std::string& proc = "/proc");
// 0 if it has ended.
pid_t parent_of(pid_t pid, const std::string& proc = "/proc");
// The base names of the files that are mapped into `pid`, each at least once.
void for_each_mapped(pid_t pid,
                     const std::function<void(std::string_view name)>& found,
                     const std::string& proc = "/proc");
// The state letter of proc(5): 'R' runs or waits for a CPU, 'D' is inside the
// kernel and takes no signal; 0 if it is gone.
char process_state(pid_t pid, const std::string& proc = "/proc");
// "Z"ombies count as gone.
bool is_alive(pid_t pid, const std::string& proc = "/proc");
// Clock ticks since boot at which it started; 0 if it has ended. With the pid
// it names one process for ever.
unsigned long long start_time(pid_t pid, const std::string& proc = "/proc");
int count_processes(const std::string& proc = "/proc");

struct ProcessSample {
  pid_t pid = 0;
  pid_t parent = 0;
  int64_t cpu_us = 0;  // its own, and that of the children it has waited for
  int64_t memory_bytes = 0;  // resident; what it shares with others, too
};
// Of every process that is seen.
std::vector<ProcessSample> use_of_processes(const std::string& proc = "/proc");

}  // namespace muster
