// SPDX-License-Identifier: Apache-2.0
#include "stacks/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "base/fd.h"

namespace muster {

namespace {

constexpr size_t kVdsoSize = 2 * 4096;

// A struct at `offset`, copied out; nullopt: not all of it is there.
template <class T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return {};
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string name_at(std::string_view bytes, const Elf64_Shdr& strings,
                    uint32_t index) {
  if (strings.sh_offset > bytes.size() || index >= strings.sh_size) return {};
  bytes = bytes.substr(strings.sh_offset, strings.sh_size);
  if (index >= bytes.size()) return {};
  bytes = bytes.substr(index, 512);
  return std::string(bytes.substr(0, bytes.find('\0')));
}

}  // namespace

Result<ElfFile> ElfFile::parse(std::string_view bytes, bool mapped,
                               const std::string& path) {
  ElfFile file(bytes, mapped);
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return fail(Error{"not_elf", "not a 64-bit ELF file", "", path, ""});
  }
  file.read_segments();
  return file;
}

Result<ElfFile> ElfFile::open(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_size <= 0) {
    return fail_errno("no_elf", "cannot read a program's file", path);
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) {
    return fail_errno("no_elf", "cannot map a program's file", path);
  }
  return parse({static_cast<const char*>(data), size}, true, path);
}

Result<ElfFile> ElfFile::own_vdso() {
  const unsigned long address = ::getauxval(AT_SYSINFO_EHDR);
  if (address == 0) {
    return fail(Error{"no_elf", "this kernel has no vdso", "", "", ""});
  }
  return parse({reinterpret_cast<const char*>(address), kVdsoSize}, false,
               "[vdso]");
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      mapped_(other.mapped_),
      segments_(std::move(other.segments_)),
      unwind_index_(other.unwind_index_) {}

ElfFile::~ElfFile() {
  if (!mapped_ || bytes_.empty()) return;
  ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

void ElfFile::read_segments() {
  const auto header = *read_at<Elf64_Ehdr>(bytes_, 0);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto entry = read_at<Elf64_Phdr>(
        bytes_, header.e_phoff + uint64_t{i} * header.e_phentsize);
    if (!entry) return;
    if (entry->p_type == PT_GNU_EH_FRAME) unwind_index_ = entry->p_vaddr;
    if (entry->p_type == PT_LOAD && entry->p_offset < bytes_.size()) {
      segments_.push_back(
          {entry->p_offset, entry->p_vaddr,
           std::min<uint64_t>(entry->p_filesz,
                              bytes_.size() - entry->p_offset)});
    }
  }
}

std::optional<uint64_t> ElfFile::address_of(uint64_t offset) const {
  for (const Segment& s : segments_) {
    if (offset >= s.offset && offset - s.offset < s.size) {
      return s.address + (offset - s.offset);
    }
  }
  return {};
}

std::string_view ElfFile::bytes_at(uint64_t address) const {
  for (const Segment& s : segments_) {
    if (address >= s.address && address - s.address < s.size) {
      const uint64_t within = address - s.address;
      return bytes_.substr(s.offset + within, s.size - within);
    }
  }
  return {};
}

std::string ElfFile::function_at(uint64_t address) const {
  const auto header = *read_at<Elf64_Ehdr>(bytes_, 0);
  const auto section = [&](uint64_t i) {
    return read_at<Elf64_Shdr>(bytes_, header.e_shoff + i * header.e_shentsize);
  };
  Elf64_Sym best{};
  Elf64_Shdr best_names{};
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto table = section(i);
    if (!table) break;
    if (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) continue;
    const auto names = section(table->sh_link);
    if (!names) continue;
    const uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    for (uint64_t s = 0; s < count; ++s) {
      const auto symbol =
          read_at<Elf64_Sym>(bytes_, table->sh_offset + s * sizeof(Elf64_Sym));
      if (!symbol) break;
      const int type = ELF64_ST_TYPE(symbol->st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
          symbol->st_value == 0 || symbol->st_value > address) {
        continue;
      }
      const bool inside = address - symbol->st_value < symbol->st_size;
      if (inside && symbol->st_value > best.st_value) {
        best = *symbol;
        best_names = *names;
      }
    }
  }
  if (best.st_value == 0) return {};
  return name_at(bytes_, best_names, best.st_name);
}

}  // namespace muster
