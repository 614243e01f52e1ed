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

// Of this machine's kind.
bool read_header(int fd, Elf64_Ehdr& header) {
  constexpr unsigned char kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return read_at(fd, 0, &header, sizeof header) &&
         std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kOrder;
}

// Where in the file what is loaded at `address` lies.
std::optional<uint64_t> offset_of(const std::vector<Elf64_Phdr>& parts,
                                  uint64_t address) {
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type != PT_LOAD || address < part.p_vaddr) continue;
    const uint64_t into = address - part.p_vaddr;
    if (into < part.p_filesz) return part.p_offset + into;
  }
  return std::nullopt;
}

// Offsets into the text of the names of the versions that a file needs, from
// the table at `at`. The file's own links lead from entry to entry.
std::vector<uint64_t> needed_versions(int fd, uint64_t at) {
  int left = 4096;  // a circle of entries ends
  std::vector<uint64_t> out;
  Elf64_Verneed of_file{};
  while (left-- > 0 && read_at(fd, at, &of_file, sizeof of_file)) {
    uint64_t next = at + of_file.vn_aux;
    Elf64_Vernaux version{};
    while (left-- > 0 && read_at(fd, next, &version, sizeof version)) {
      if ((version.vna_flags & VER_FLG_WEAK) == 0) {
        out.push_back(version.vna_name);
      }
      if (version.vna_next == 0) break;
      next += version.vna_next;
    }
    if (of_file.vn_next == 0) break;
    at += of_file.vn_next;
  }
  return out;
}

}  // namespace

std::optional<std::vector<ByteRange>> constant_sections(int fd) {
  Elf64_Ehdr header{};
  if (!read_header(fd, header) || header.e_shnum == 0 ||
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

std::optional<DynamicNames> dynamic_names(int fd) {
  constexpr uint64_t kMostEntries = 4096;
  constexpr uint64_t kMostText = 4 << 20;
  Elf64_Ehdr header{};
  if (!read_header(fd, header) || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  std::vector<Elf64_Phdr> parts(header.e_phnum);
  if (!read_at(fd, header.e_phoff, parts.data(),
               parts.size() * sizeof(Elf64_Phdr))) {
    return std::nullopt;
  }
  const auto dynamic = std::find_if(parts.begin(), parts.end(), [](auto& part) {
    return part.p_type == PT_DYNAMIC;
  });
  if (dynamic == parts.end()) return std::nullopt;
  std::vector<Elf64_Dyn> entries(
      std::min(dynamic->p_filesz / sizeof(Elf64_Dyn), kMostEntries));
  if (!read_at(fd, dynamic->p_offset, entries.data(),
               entries.size() * sizeof(Elf64_Dyn))) {
    return std::nullopt;
  }
  uint64_t address = 0;
  uint64_t size = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
  }
  const auto offset = offset_of(parts, address);
  if (!offset || size == 0 || size > kMostText) return std::nullopt;
  std::string texts(size, '\0');
  if (!read_at(fd, *offset, texts.data(), size)) return std::nullopt;
  const auto text = [&texts](uint64_t at) {
    return at < texts.size() ? std::string(texts.c_str() + at) : "";
  };
  DynamicNames out;
  std::optional<uint64_t> needs;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) out.needed.push_back(text(entry.d_un.d_val));
    if (entry.d_tag == DT_RPATH) out.rpath = text(entry.d_un.d_val);
    if (entry.d_tag == DT_RUNPATH) out.runpath = text(entry.d_un.d_val);
    if (entry.d_tag == DT_SONAME) out.soname = text(entry.d_un.d_val);
    if (entry.d_tag == DT_VERNEED) {
      needs = offset_of(parts, entry.d_un.d_ptr);  // the last one counts
    }
  }
  if (!needs) return out;
  for (const uint64_t name : needed_versions(fd, *needs)) {
    out.versions.push_back(text(name));
  }
  return out;
}

}  // namespace muster
