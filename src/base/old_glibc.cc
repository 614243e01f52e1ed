// SPDX-License-Identifier: Apache-2.0
// The functions of glibc 2.36 that our programs need, so that they run on glibc
// 2.34 as well. The C++ runtime in our programs asks for arc4random, and so
// does the libevent that libpmix brings: muster-agent exports both for it, and
// scripts/weaken-need lets it load. The compiler's runtime asks glibc 2.35 for
// the program or library that an exception passes through. Part of each
// program, not of the library `base`: the linker would look there too early.
// Any thread.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "base/random.h"

extern "C" {

__attribute__((used, visibility("default"))) std::uint32_t arc4random() {
  return static_cast<std::uint32_t>(muster::random_bits());
}

__attribute__((used, visibility("default"))) void arc4random_buf(
    void* out, std::size_t size) {
  auto* at = static_cast<char*>(out);
  while (size > 0) {
    const std::uint64_t bits = muster::random_bits();
    const std::size_t count = size < sizeof bits ? size : sizeof bits;
    std::memcpy(at, &bits, count);
    at += count;
    size -= count;
  }
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // since glibc 2.35
// dlfcn.h declares it; what an unwinder reads of the answer is eh_frame.
__attribute__((used, visibility("hidden"))) int _dl_find_object(
    void* address, dl_find_object* result) noexcept {
  *result = {};
  result->dlfo_map_start = address;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* out = static_cast<dl_find_object*>(data);
        const auto at = reinterpret_cast<ElfW(Addr)>(out->dlfo_map_start);
        bool here = false;
        void* frames = nullptr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = info->dlpi_phdr[i];
          const ElfW(Addr) begin = info->dlpi_addr + part.p_vaddr;
          if (part.p_type == PT_LOAD) {
            here = here || at - begin < part.p_memsz;
          } else if (part.p_type == PT_GNU_EH_FRAME) {
            frames = reinterpret_cast<void*>(begin);
          }
        }
        if (here) out->dlfo_eh_frame = frames;
        return here ? 1 : 0;
      },
      result);
  return result->dlfo_eh_frame != nullptr ? 0 : -1;
}
#endif

}  // extern "C"
