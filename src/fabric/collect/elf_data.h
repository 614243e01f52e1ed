// SPDX-License-Identifier: Apache-2.0
// The places of the constant texts of a 64-bit ELF library, so that a search
// need not read the code for every GPU, which can be a gigabyte; and the
// entries of a program or library for the dynamic linker. The bytes are
// untrusted: returns nothing if they are inconsistent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster {

struct ByteRange {
  uint64_t offset = 0;
  uint64_t size = 0;
  bool operator==(const ByteRange&) const = default;
};

// Sections that are loaded, neither written nor run, the small ones first;
// nullopt: `fd` is not such a library, or has no table of sections.
std::optional<std::vector<ByteRange>> constant_sections(int fd);

struct DynamicNames {
  std::vector<std::string> needed;  // "libnccl.so.2"
  std::string rpath;                // as written: "$ORIGIN/../lib"
  std::string runpath;
  std::string soname;                 // a library's own: "libnccl.so.2"
  std::vector<std::string> versions;  // "GLIBC_2.34"; weak needs left out
};

// nullopt: the dynamic linker would not take `fd`.
std::optional<DynamicNames> dynamic_names(int fd);

}  // namespace muster
