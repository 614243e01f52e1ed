// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/elf_data.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace muster {

namespace {

constexpr size_t kMaxSections = 4096;

bool read_at(int fd, uint64_t offset, void* to, size_t size) {
  if (offset > INT64_MAX - size) return false;
  const ssize_t n = ::pread(fd, to, size, static_cast<off_t>(offset));
  return n >= 0 && static_cast<size_t>(n) == size;
}

}  // namespace

std::optional<std::vector<ByteRange>> constant_sections(int fd) {
  Elf64_Ehdr header{};
  if (!read_at(fd, 0, &header, sizeof header)) return std::nullopt;
  constexpr unsigned char kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != kOrder || header.e_shnum == 0 ||
      header.e_shnum > kMaxSections ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    return std::nullopt;
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read_at(fd, header.e_shoff, sections.data(),
               sections.size() * sizeof(Elf64_Shdr))) {
    return std::nullopt;
  }
  std::vector<ByteRange> out;
  for (const Elf64_Shdr& section : sections) {
    const bool constant = (section.sh_flags & SHF_ALLOC) != 0 &&
                          (section.sh_flags & (SHF_WRITE | SHF_EXECINSTR)) == 0;
    if (section.sh_type != SHT_PROGBITS || !constant) continue;
    if (section.sh_size > INT64_MAX) continue;
    if (section.sh_offset > INT64_MAX - section.sh_size) continue;
    out.push_back({section.sh_offset, section.sh_size});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](auto& a, auto& b) { return a.size < b.size; });
  return out;
}

}  // namespace muster
