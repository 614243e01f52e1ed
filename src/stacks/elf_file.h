// SPDX-License-Identifier: Apache-2.0
// ElfFile: the parts of a program or library on disk that an unwinder needs:
// the address of a byte of the file, its unwind index, and names of functions.
// Refuses: files other than 64-bit little-endian ELF. Checks every offset that
// a file states. Owns the mapping; immutable once opened.
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
  // The function at `address`; empty: unknown.
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
