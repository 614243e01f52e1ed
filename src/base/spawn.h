// SPDX-License-Identifier: Apache-2.0
// Starts a child program, or reports the step that failed. The child reports
// {stage, errno} over a close-on-exec pipe, so spawn() returns only when exec
// has succeeded or the reason is known. Refuses: shells (pass
// {"/bin/sh","-c",…} yourself), inherited descriptors other than those listed,
// blocked signals in the child.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct SpawnOptions {
  std::vector<std::string> argv;
  std::string program;  // its file; empty: argv[0], looked up in env's PATH
  Environment env;      // the whole environment of the child
  std::string cwd;      // empty: ours
  // {descriptor of ours, number in the child}; 0–2, unless named here, read
  // from or write to /dev/null, except with `inherit_stdio`.
  std::vector<std::pair<int, int>> fds;
  bool inherit_stdio = false;
  bool new_session = true;        // setsid: the child leads a process group
  int parent_death_signal = 0;    // PR_SET_PDEATHSIG; 0: none
  bool raise_soft_limits = true;  // memlock, nofile, core: soft = hard
  std::vector<int> cpus;          // sched_setaffinity; empty: ours
};

// Error codes: "exe_not_found" (127), "exe_not_runnable" (126), "cwd_missing",
// "resources".
// A program that cannot be bound to its CPUs starts all the same: `bind_error`
// gets 0, or the errno of it.
Result<pid_t> spawn(const SpawnOptions& options, int* bind_error = nullptr);

// The path for exec, unchanged if it has a slash, or an error.
Result<std::string> find_program(const std::string& name,
                                 const std::string& search_path,
                                 const std::string& cwd = {});

Environment current_environment();
// nullptr if unset.
const std::string* find_env(const Environment& env, std::string_view name);
void set_env(Environment& env, std::string_view name, std::string value);

}  // namespace muster
