// SPDX-License-Identifier: Apache-2.0
#include "stacks/frame_rules.h"

#include <vector>

#include "stacks/table_reader.h"

namespace muster {

namespace {

// A table's rules for one function, and the encoding of its numbers.
struct Description {
  uint64_t code_align = 1;
  int64_t data_align = 1;
  uint64_t return_register = 0;
  uint8_t pointer_encoding = 0;
  bool augmented = false;
  bool signal_frame = false;
  uint64_t begin = 0;
  uint64_t size = 0;
  uint64_t common_code = 0;  // instructions: address and length
  uint64_t common_size = 0;
  uint64_t own_code = 0;
  uint64_t own_size = 0;
};

struct Rule {
  enum class Kind { kSame, kUndefined, kAtOffset, kUnknown } kind = Kind::kSame;
  int64_t offset = 0;
};

struct Row {
  uint64_t base_register = 0;  // CFA = base_register + base_offset
  int64_t base_offset = 0;
  bool base_known = false;
  std::array<Rule, CallRegisters::kCount> rules;
};

// The table entry for `address`, by binary search.
uint64_t find_entry(const ElfFile& file, uint64_t address) {
  const uint64_t index = file.unwind_index();
  TableReader head(file, index);
  const auto version = head.fixed<uint8_t>();
  const auto frame_encoding = head.fixed<uint8_t>();
  const auto count_encoding = head.fixed<uint8_t>();
  const auto table_encoding = head.fixed<uint8_t>();
  head.pointer(frame_encoding, index);
  const uint64_t count = head.pointer(count_encoding, index);
  constexpr uint8_t kSorted = 0x3b;  // pairs of 4 bytes, relative to the index
  if (head.bad() || version != 1 || table_encoding != kSorted ||
      count > head.left() / 8) {
    return 0;
  }
  const auto pair = [&](uint64_t i) {
    TableReader reader(file, head.address() + i * 8);
    const auto begin = static_cast<uint64_t>(reader.fixed<int32_t>()) + index;
    const auto entry = static_cast<uint64_t>(reader.fixed<int32_t>()) + index;
    return std::pair{begin, entry};
  };
  uint64_t low = 0;
  uint64_t high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (pair(middle).first <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : pair(low - 1).second;
}

// The common part (CIE) at `address`.
bool read_common(const ElfFile& file, uint64_t address, Description& out) {
  TableReader reader(file, address);
  const auto length = reader.fixed<uint32_t>();
  reader.limit(length);
  reader.skip(4);
  const auto version = reader.fixed<uint8_t>();
  std::string augmentation;
  while (const auto c = reader.fixed<char>()) augmentation += c;
  out.code_align = reader.uleb();
  out.data_align = reader.sleb();
  out.return_register = version == 1 ? reader.fixed<uint8_t>() : reader.uleb();
  if (augmentation.starts_with('z')) {
    out.augmented = true;
    const uint64_t size = reader.uleb();
    const uint64_t after = reader.address() + size;
    for (const char c : augmentation.substr(1)) {
      if (c == 'R') out.pointer_encoding = reader.fixed<uint8_t>();
      if (c == 'L') reader.fixed<uint8_t>();
      if (c == 'P') {
        const auto encoding = reader.fixed<uint8_t>();
        reader.pointer(encoding & 0x7f, 0);
      }
      if (c == 'S') out.signal_frame = true;
    }
    if (after < reader.address()) return false;
    reader.skip(after - reader.address());
  } else if (!augmentation.empty()) {
    return false;
  }
  out.common_code = reader.address();
  out.common_size = reader.left();
  return !reader.bad() && out.return_register < CallRegisters::kCount;
}

std::optional<Description> describe(const ElfFile& file, uint64_t address) {
  const uint64_t entry = find_entry(file, address);
  if (entry == 0) return {};
  TableReader reader(file, entry);
  const auto length = reader.fixed<uint32_t>();
  if (length == 0 || length == 0xffffffff) return {};
  reader.limit(length);
  const uint64_t here = reader.address();
  const auto back = reader.fixed<uint32_t>();
  Description out;
  if (back == 0 || !read_common(file, here - back, out)) return {};
  out.begin = reader.pointer(out.pointer_encoding & 0x7f, 0);
  out.size = reader.pointer(out.pointer_encoding & 0x0f, 0);
  if (out.augmented) reader.skip(reader.uleb());
  out.own_code = reader.address();
  out.own_size = reader.left();
  if (reader.bad() || address < out.begin || address - out.begin >= out.size) {
    return {};
  }
  return out;
}

// Runs the instructions of a table up to `address`.
class RowMachine {
 public:
  RowMachine(const ElfFile& file, const Description& description,
             uint64_t address)
      : file_(file), about_(description), target_(address) {}

  std::optional<Row> run() {
    if (!run(about_.common_code, about_.common_size)) return {};
    initial_ = row_;
    at_ = about_.begin;
    if (!run(about_.own_code, about_.own_size) || !row_.base_known) return {};
    return row_;
  }

 private:
  bool run(uint64_t code, uint64_t size) {
    TableReader reader(file_, code);
    reader.limit(size);
    while (reader.left() > 0 && !reader.bad() && at_ <= target_) {
      if (!step(reader, reader.fixed<uint8_t>())) return false;
    }
    return !reader.bad();
  }

  bool step(TableReader& reader, uint8_t op) {
    const uint8_t low = op & 0x3f;
    switch (op & 0xc0) {
      case 0x40:
        advance(low);
        return true;
      case 0x80:
        set(low, Rule::Kind::kAtOffset, scaled(reader));
        return true;
      case 0xc0:
        restore(low);
        return true;
      default:
        return extended(reader, op);
    }
  }

  bool extended(TableReader& reader, uint8_t op) {
    switch (op) {
      case 0x00:
        return true;
      case 0x01:
        at_ = reader.pointer(about_.pointer_encoding & 0x7f, 0);
        return true;
      case 0x02:
        advance(reader.fixed<uint8_t>());
        return true;
      case 0x03:
        advance(reader.fixed<uint16_t>());
        return true;
      case 0x04:
        advance(reader.fixed<uint32_t>());
        return true;
      case 0x05: {  // offset_extended
        const uint64_t which = reader.uleb();
        set(which, Rule::Kind::kAtOffset, scaled(reader));
        return true;
      }
      case 0x06:
        restore(reader.uleb());
        return true;
      case 0x07:
        set(reader.uleb(), Rule::Kind::kUndefined, 0);
        return true;
      case 0x08:
        set(reader.uleb(), Rule::Kind::kSame, 0);
        return true;
      case 0x09:
        set(reader.uleb(), Rule::Kind::kUnknown, 0);
        reader.uleb();
        return true;
      case 0x0a:
        saved_.push_back(row_);
        return saved_.size() < 64;
      case 0x0b:
        if (saved_.empty()) return false;
        row_ = saved_.back();
        saved_.pop_back();
        return true;
      case 0x10:
      case 0x16:
        set(reader.uleb(), Rule::Kind::kUnknown, 0);
        reader.skip(reader.uleb());
        return true;
      case 0x2d:
        return true;  // ARM: sign state of the return address
      case 0x2e:
        reader.uleb();
        return true;  // size of arguments
      default:
        return extended_base(reader, op);
    }
  }

  bool extended_base(TableReader& reader, uint8_t op) {
    switch (op) {
      case 0x0c: {  // def_cfa
        const uint64_t which = reader.uleb();
        base(which, static_cast<int64_t>(reader.uleb()));
        return true;
      }
      case 0x0d:
        base(reader.uleb(), row_.base_offset);
        return true;
      case 0x0e:
        row_.base_offset = static_cast<int64_t>(reader.uleb());
        return true;
      default:
        return false;  // expressions for the base among them
    }
  }

  void base(uint64_t which, int64_t offset) {
    row_.base_register = which;
    row_.base_offset = offset;
    row_.base_known = which < CallRegisters::kCount;
  }
  void advance(uint64_t by) { at_ += by * about_.code_align; }
  int64_t scaled(TableReader& reader) const {
    return static_cast<int64_t>(reader.uleb()) * about_.data_align;
  }
  void set(uint64_t which, Rule::Kind kind, int64_t offset) {
    if (which < CallRegisters::kCount) row_.rules[which] = {kind, offset};
  }
  void restore(uint64_t which) {
    if (which < CallRegisters::kCount)
      row_.rules[which] = initial_.rules[which];
  }

  const ElfFile& file_;
  const Description& about_;
  uint64_t target_;
  uint64_t at_ = 0;
  Row row_;
  Row initial_;
  std::vector<Row> saved_;
};

}  // namespace

std::optional<CallRegisters> caller_of(const ElfFile& file, uint64_t address,
                                       const CallRegisters& registers,
                                       const ReadWord& read) {
  if (file.unwind_index() == 0) return {};
  const auto about = describe(file, address);
  if (!about || about->signal_frame) return {};
  const auto row = RowMachine(file, *about, address).run();
  if (!row) return {};
  const uint64_t frame = registers.values[row->base_register] +
                         static_cast<uint64_t>(row->base_offset);
  CallRegisters out = registers;
  for (size_t i = 0; i < CallRegisters::kCount; ++i) {
    if (row->rules[i].kind != Rule::Kind::kAtOffset) continue;
    const auto value =
        read(frame + static_cast<uint64_t>(row->rules[i].offset));
    if (!value) return {};
    out.values[i] = *value;
  }
  // Undefined: the outermost function, as _start.
  if (row->rules[about->return_register].kind == Rule::Kind::kUndefined) {
    return {};
  }
  out.pc = out.values[about->return_register];
  out.values[CallRegisters::kStackPointer] = frame;
  return out;
}

}  // namespace muster
