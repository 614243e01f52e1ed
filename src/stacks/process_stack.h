// SPDX-License-Identifier: Apache-2.0
// From a frozen thread's registers and stack bytes to the names of its
// functions. Reads the process's map and the files that it names; never the
// process itself, so a broken stack does no harm. Refuses nothing: a frame that
// it cannot follow ends the list.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stacks/elf_file.h"
#include "stacks/frame_rules.h"

namespace muster {

struct StackSnapshot {
  int pid = 0;
  CallRegisters registers;
  uint64_t stack_begin = 0;  // address of the first byte of `stack`
  std::string stack;
};

struct StackFrame {
  uint64_t pc = 0;
  std::string function;  // empty: unknown
  std::string file;      // name of the program or library, without its path
  uint64_t sp = 0;
  uint64_t kept = 0;  // hash of the callee-saved registers; 0: unknown
};

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  std::string path;
};
// Text of /proc/PID/maps; only what can be executed.
std::vector<Mapping> parse_maps(const std::string& text);

class StackReader {
 public:
  static constexpr size_t kMaxFrames = 64;

  // Innermost first; function names are symbols. `root` comes before /proc and
  // before the files.
  std::vector<StackFrame> frames(const StackSnapshot& snapshot,
                                 const std::string& root = "");

 private:
  const ElfFile* file_of(const Mapping& mapping, int pid,
                         const std::string& root);
  std::map<std::string, std::unique_ptr<ElfFile>> files_;
};

// The stack of a frame and its callers, and their callee-saved registers if
// known, as a short text.
std::string stack_mark(const StackSnapshot& snapshot, const StackFrame& frame);
// No call has returned to the frame between two marks of it.
bool same_mark(std::string_view one, std::string_view other);

}  // namespace muster
