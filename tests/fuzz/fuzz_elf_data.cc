// SPDX-License-Identifier: Apache-2.0
// Any bytes as a library: ranges that can be asked of pread(), the small ones
// first, or no answer; entries for the dynamic linker, or none.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "base/fd.h"
#include "fabric/collect/elf_data.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  UniqueFd fd(::memfd_create("library", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), data, size) != static_cast<ssize_t>(size)) {
    return 0;
  }
  static_cast<void>(dynamic_names(fd.get()));
  const auto sections = constant_sections(fd.get());
  if (!sections) return 0;
  uint64_t last = 0;
  for (const ByteRange& range : *sections) {
    if (range.size < last) std::abort();
    if (range.offset > INT64_MAX - range.size) std::abort();
    last = range.size;
  }
  return 0;
}
