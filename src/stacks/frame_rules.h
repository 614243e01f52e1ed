// SPDX-License-Identifier: Apache-2.0
// One step up a call stack by the tables that compilers write for exceptions
// (.eh_frame, found through .eh_frame_hdr): where the caller's registers are.
// Refuses: DWARF expressions and signal frames (the walk ends there); every
// length and offset of the tables is checked. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "stacks/elf_file.h"

namespace muster {

// Registers by their DWARF numbers, of x86-64 or of 64-bit ARM.
struct CallRegisters {
  static constexpr size_t kCount = 33;
  std::array<uint64_t, kCount> values{};
  uint64_t pc = 0;

#if defined(__aarch64__)
  static constexpr size_t kStackPointer = 31;
  static constexpr size_t kFramePointer = 29;
  // A function gives these back as it found them.
  static constexpr std::array<size_t, 10> kKept = {19, 20, 21, 22, 23,
                                                   24, 25, 26, 27, 28};
#else
  static constexpr size_t kStackPointer = 7;
  static constexpr size_t kFramePointer = 6;
  static constexpr std::array<size_t, 5> kKept = {3, 12, 13, 14, 15};
#endif
  [[nodiscard]] uint64_t sp() const { return values[kStackPointer]; }
};

// Eight bytes of the process at an address; nullopt: unknown.
using ReadWord = std::function<std::optional<uint64_t>(uint64_t)>;

// The caller's registers. `address`: of the current instruction, as `file`
// counts it. nullopt: the file has no rule.
std::optional<CallRegisters> caller_of(const ElfFile& file, uint64_t address,
                                       const CallRegisters& registers,
                                       const ReadWord& read);

}  // namespace muster
