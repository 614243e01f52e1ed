// SPDX-License-Identifier: Apache-2.0
// Puts muster's hostfile, options and rank wrapper into a user's mpirun line
// and leaves every other word byte for byte. Returns the removed words for the
// log. Refuses: a wrapper if an unknown option hides where the program starts.
// Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/mpirun_line.h"

namespace muster {

struct Replacement {
  std::string program;               // replaces words[0]; empty: keep
  LauncherSet launcher = 0;          // one bit: whose spelling to use
  std::string hostfile;              // path; empty: give no hostfile
  std::vector<std::string> options;  // inserted before the user's
  std::vector<std::string> wrapper;  // in front of each program
  // The user's name of a host -> the one in `hostfile`; in lines of several
  // programs the -H lists stay, since they place the programs.
  std::map<std::string, std::string> host_names;
  std::map<std::string, int> all_slots;  // "a:*", by the user's name of it
};

struct Rewritten {
  std::vector<std::string> words;
  std::vector<std::string> dropped;  // "--hostfile /etc/mpi/hostfile"
};

// Error code "usage".
Result<Rewritten> rewrite_mpirun_line(const MpirunLine& line,
                                      const Replacement& replacement);

}  // namespace muster
