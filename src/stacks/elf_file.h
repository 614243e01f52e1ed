// SPDX-License-Identifier: Apache-2.0
// ElfFile: what an unwinder needs of a program or library on disk: which
// address a byte of the file has, its unwind index, and names of functions.
// Refuses: what is not a 64-bit little-endian ELF file; every offset that a
// file states is checked. Owns the mapping; immutable once opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

class ElfFile {
 public:
  static Result<ElfFile> open(const std::string& path);
  // The kernel's vdso of this process, which every process of this kernel has.
  static Result<ElfFile> own_vdso();
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&&) = delete;
  ~ElfFile();

  // Address, as the file counts it, of the byte at `offset`.
  [[nodiscard]] std::optional<uint64_t> address_of(uint64_t offset) const;
  // The bytes from an address to the end of its segment; empty: not there.
  [[nodiscard]] std::string_view bytes_at(uint64_t address) const;
  // Address of .eh_frame_hdr; 0: none.
  [[nodiscard]] uint64_t unwind_index() const { return unwind_index_; }
  // The function that `address` is in; empty: not known.
  [[nodiscard]] std::string function_at(uint64_t address) const;

 private:
  struct Segment {
    uint64_t offset, address, size;
  };
  explicit ElfFile(std::string_view bytes, bool mapped)
      : bytes_(bytes), mapped_(mapped) {}
  static Result<ElfFile> parse(std::string_view bytes, bool mapped,
                               const std::string& path);
  void read_segments();

  std::string_view bytes_;
  bool mapped_;
  std::vector<Segment> segments_;
  uint64_t unwind_index_ = 0;
};

}  // namespace muster
