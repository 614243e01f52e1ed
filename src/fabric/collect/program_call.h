// SPDX-License-Identifier: Apache-2.0
// Finds the program that a command line finally runs: behind env, a shell's -c
// and scripts, `source …/activate`, wrappers such as numactl, and "#!" lines.
// Reads files of the image, runs nothing, and guesses what a shell would decide
// at run time: of several commands of a script it takes the last one that is a
// program.
#pragma once

#include <string>
#include <vector>

#include "base/spawn.h"

namespace muster {

struct ProgramCall {
  std::vector<std::string> argv;
  Environment env;  // as the program gets it
  std::string cwd;
};

struct ProgramFile {
  std::string path;  // of the program or the interpreter; empty: none
  std::vector<std::string> options;  // of the interpreter: -s, -I, -E
  Environment env;
  std::string cwd;
  std::vector<std::string> by;  // "run.sh runs it", outermost first
};

// `root` stands before each path.
ProgramFile find_program_file(const std::string& root, const ProgramCall& call);

// `path`, or the target of a link within `root`.
std::string behind_links(const std::string& root, const std::string& path);

}  // namespace muster
