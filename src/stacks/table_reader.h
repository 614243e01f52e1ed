// SPDX-License-Identifier: Apache-2.0
// TableReader: numbers of an .eh_frame table, one after the other, with their
// addresses. After the first missing byte all is zero and bad() says so. Pure;
// borrows the file.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "stacks/elf_file.h"

namespace muster {

class TableReader {
 public:
  TableReader(const ElfFile& file, uint64_t address)
      : bytes_(file.bytes_at(address)), address_(address) {}

  [[nodiscard]] bool bad() const { return bad_; }
  [[nodiscard]] uint64_t address() const { return address_ + at_; }
  [[nodiscard]] size_t left() const { return bytes_.size() - at_; }
  // Reads nothing beyond `size` further bytes.
  void limit(uint64_t size) {
    if (size > left()) {
      bad_ = true;
    } else {
      bytes_ = bytes_.substr(0, at_ + static_cast<size_t>(size));
    }
  }
  void skip(uint64_t size) {
    if (size > left()) {
      bad_ = true;
    } else {
      at_ += static_cast<size_t>(size);
    }
  }
  template <class T>
  T fixed() {
    T value{};
    if (left() < sizeof(T)) {
      bad_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<uint8_t>();
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    bad_ = true;
    return 0;
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = fixed<uint8_t>();
      value |= uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    bad_ = true;
    return 0;
  }
  // A pointer in one of the encodings of .eh_frame; `base` is for "datarel".
  uint64_t pointer(uint8_t encoding, uint64_t base) {
    const uint64_t here = address();
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
        value = fixed<uint64_t>();
        break;
      case 0x01:
        value = uleb();
        break;
      case 0x02:
        value = fixed<uint16_t>();
        break;
      case 0x03:
        value = fixed<uint32_t>();
        break;
      case 0x09:
        value = static_cast<uint64_t>(sleb());
        break;
      case 0x0a:
        value = static_cast<uint64_t>(fixed<int16_t>());
        break;
      case 0x0b:
        value = static_cast<uint64_t>(fixed<int32_t>());
        break;
      case 0x0c:
        value = fixed<uint64_t>();
        break;
      default:
        bad_ = true;
        return 0;
    }
    switch (encoding & 0x70) {
      case 0x00:
        return value;
      case 0x10:
        return value + here;
      case 0x30:
        return value + base;
      default:
        bad_ = true;
        return 0;
    }
  }

 private:
  std::string_view bytes_;
  uint64_t address_;
  size_t at_ = 0;
  bool bad_ = false;
};

}  // namespace muster
