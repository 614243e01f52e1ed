// SPDX-License-Identifier: Apache-2.0
// Decides whether an exception that a Python program has printed ended the
// program: its traceback begins at a line of the main program, and no statement
// there can have caught it. Uses the command line and the source, not the
// process, whose interpreter may be shutting down. Refuses, as "unknown": lines
// within a `try` or `with` of the main program, another file than the main
// program, and a source that it cannot follow.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The program on an interpreter's command line.
struct MainProgram {
  enum class Kind { kUnknown, kScript, kCode, kModule };
  Kind kind = Kind::kUnknown;
  std::string text;  // the path as given, or the code of -c
};
MainProgram main_program(const std::vector<std::string>& command);

// Whether an exception at line `line` (from 1) leaves the module `source`.
// Pure.
bool leaves_module(std::string_view source, int line);

// The first frame of a traceback that a rank's process has printed.
struct RaisedAt {
  pid_t pid = 0;
  int line = 0;
  std::string file;
};

// A line of text, from the agent to its helper, which may wait for a file.
std::string to_text(const RaisedAt& raised);
// Picks them out of lines of other kinds.
std::vector<RaisedAt> raised_from_text(std::string_view text);

bool is_uncaught(const RaisedAt& raised);

}  // namespace muster
