// SPDX-License-Identifier: Apache-2.0
// What would need glibc 2.36, so that programs built with it run on glibc 2.34
// as well. The C++ runtime in our programs asks for arc4random, and so does the
// libevent that libpmix brings: for it muster-agent exports both, and
// scripts/weaken-need lets it load. Part of each program, not of the library
// `base`: the linker would look there too early. Any thread.
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

}  // extern "C"
