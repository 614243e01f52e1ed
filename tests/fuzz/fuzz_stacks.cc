// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program's file, and as the text of /proc/PID/maps: what an
// unwinder asks of it is answered within the file, or not at all.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "stacks/elf_file.h"
#include "stacks/frame_rules.h"
#include "stacks/process_stack.h"

namespace {

using namespace muster;

void ask(const ElfFile& file, uint64_t address) {
  static_cast<void>(file.function_at(address));
  static_cast<void>(file.bytes_at(address));
  CallRegisters registers;
  registers.pc = address;
  registers.values.fill(address);
  const ReadWord read = [](uint64_t at) -> std::optional<uint64_t> {
    return at % 3 == 0 ? std::nullopt : std::optional<uint64_t>(at * 7);
  };
  for (int i = 0; i < 4; ++i) {
    const auto caller = caller_of(file, registers.pc, registers, read);
    if (!caller) return;
    registers = *caller;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const Mapping& mapping : parse_maps(text)) {
    if (mapping.end < mapping.begin) std::abort();
  }
  const int fd = ::memfd_create("elf", MFD_CLOEXEC);
  if (::write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  const auto file = ElfFile::open("/proc/self/fd/" + std::to_string(fd));
  ::close(fd);
  if (!file) return 0;
  for (uint64_t offset = 0; offset < size; offset += size / 16 + 1) {
    if (const auto address = file->address_of(offset)) ask(*file, *address);
  }
  ask(*file, file->unwind_index());
  ask(*file, UINT64_MAX);
  return 0;
}
