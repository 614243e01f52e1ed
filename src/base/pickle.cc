// SPDX-License-Identifier: Apache-2.0
#include "base/pickle.h"

#include <string>

namespace muster {

namespace {

constexpr size_t kMostValues = 4 << 20;
constexpr size_t kMostLists = 1 << 20;
constexpr size_t kMostRefs = 8 << 20;  // of all lists, stack and memo

Error damaged(const std::string& why, size_t at) {
  return Error{"pickle", "the pickle cannot be read",
               why + " at byte " + std::to_string(at), "", ""};
}

bool runs_code(uint8_t code) {
  switch (code) {
    case 'c':   // GLOBAL
    case 'i':   // INST
    case 'o':   // OBJ
    case 'R':   // REDUCE
    case 'b':   // BUILD
    case 'P':   // PERSID
    case 'Q':   // BINPERSID
    case 0x81:  // NEWOBJ
    case 0x82:  // EXT1, EXT2, EXT4
    case 0x83:
    case 0x84:
    case 0x92:  // NEWOBJ_EX
    case 0x93:  // STACK_GLOBAL
      return true;
    default:
      return false;
  }
}

}  // namespace

// The codes are those of Python's pickletools.
class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) { out_.bytes_ = bytes; }

  Result<Pickle> read() {
    if (out_.bytes_.size() > Pickle::kLongest) {
      return fail(damaged("it is longer than 32 MiB", Pickle::kLongest));
    }
    for (;;) {
      const size_t before = at_;
      const auto code = static_cast<uint8_t>(number(1));
      if (!ok_) return fail(damaged("it ends early", before));
      if (code == '.') break;
      if (runs_code(code)) {
        return fail(damaged("it asks to run code, which is not done", before));
      }
      if (!step(code)) return fail(damaged("it makes no sense", before));
      if (out_.values_.size() > kMostValues ||
          out_.lists_.size() > kMostLists || refs_ > kMostRefs) {
        return fail(damaged("it has too many values", before));
      }
    }
    if (stack_.size() != 1 || !marks_.empty()) {
      return fail(damaged("its end makes no sense", at_));
    }
    out_.root_ = stack_.back();
    return std::move(out_);
  }

 private:
  using Ref = Pickle::Ref;
  using Kind = Pickle::Kind;

  bool step(uint8_t code) {
    switch (code) {
      case 0x80: {  // PROTO
        const uint64_t version = number(1);
        return ok_ && version >= 2 && version <= 5;
      }
      case 0x95:  // FRAME
        number(8);
        return ok_;
      case '(':
        marks_.push_back(stack_.size());
        ++refs_;
        return true;
      case 'N':
        return push(Kind::kNone, 0);
      case 0x88:
      case 0x89:
        return push(Kind::kBool, code == 0x88 ? 1 : 0);
      case 'K':
        return push(Kind::kInteger, number(1));
      case 'M':
        return push(Kind::kInteger, number(2));
      case 'J':
        return push(Kind::kInteger, extended(number(4), 4));
      case 0x8a: {  // LONG1
        const uint64_t size = number(1);
        return size <= 8 && push(Kind::kInteger, extended(number(size), size));
      }
      case 'G':
        number(8);
        return push(Kind::kFloat, 0);
      case 'U':
      case 'C':
      case 0x8c:
        return text(number(1));
      case 'T':
      case 'B':
      case 'X':
        return text(number(4));
      case 0x8d:
      case 0x8e:
        return text(number(8));
      default:
        return memo_step(code) || list_step(code);
    }
  }

  bool memo_step(uint8_t code) {
    switch (code) {
      case 'q':
        return put(number(1));
      case 'r':
        return put(number(4));
      case 0x94:
        return put(memo_.size());
      case 'h':
        return get(number(1));
      case 'j':
        return get(number(4));
      default:
        return false;
    }
  }

  bool list_step(uint8_t code) {
    switch (code) {
      case ']':
      case ')':
        return push_list(Kind::kList);
      case '}':
        return push_list(Kind::kDict);
      case 'a':
        return above(2) && add(stack_.size() - 1, Kind::kList);
      case 's':
        return above(3) && add(stack_.size() - 2, Kind::kDict);
      case 'e':
        return pop_mark() && add(mark_, Kind::kList);
      case 'u':
        return pop_mark() && add(mark_, Kind::kDict);
      case 't':
        return pop_mark() && tuple(mark_);
      case 0x85:
      case 0x86:
      case 0x87: {
        const size_t size = code - size_t{0x84};
        return above(size) && tuple(stack_.size() - size);
      }
      default:
        return false;
    }
  }

  // Little endian; 0 and not ok_ if the bytes end.
  uint64_t number(uint64_t size) {
    if (!ok_ || size > out_.bytes_.size() - at_) {
      ok_ = false;
      return 0;
    }
    uint64_t value = 0;
    for (uint64_t i = 0; i < size; ++i) {
      value |= uint64_t{static_cast<uint8_t>(out_.bytes_[at_ + i])} << (8 * i);
    }
    at_ += size;
    return value;
  }

  static uint64_t extended(uint64_t value, uint64_t size) {
    if (size == 0 || size == 8) return value;
    const uint64_t sign = uint64_t{1} << (8 * size - 1);
    return (value ^ sign) - sign;
  }

  bool push(Kind kind, uint64_t value, uint32_t size = 0) {
    if (!ok_) return false;
    stack_.push_back(static_cast<Ref>(out_.values_.size()));
    ++refs_;
    out_.values_.push_back({kind, size, value});
    return true;
  }

  bool text(uint64_t size) {
    if (!ok_ || size > out_.bytes_.size() - at_) return false;
    const size_t begin = at_;
    at_ += size;
    return push(Kind::kText, begin, static_cast<uint32_t>(size));
  }

  bool push_list(Kind kind) {
    out_.lists_.emplace_back();
    return push(kind, out_.lists_.size() - 1);
  }

  bool put(uint64_t place) {
    if (!ok_ || !above(1) || place >= kMostRefs) return false;
    // Not sparse: a few bytes must not fill the memory.
    if (place > memo_.size() + 256) return false;
    if (place >= memo_.size()) {
      refs_ += place + 1 - memo_.size();
      memo_.resize(place + 1, kNothing);
    }
    memo_[place] = stack_.back();
    return true;
  }

  bool get(uint64_t place) {
    if (!ok_ || place >= memo_.size() || memo_[place] == kNothing) return false;
    stack_.push_back(memo_[place]);
    ++refs_;
    return true;
  }

  [[nodiscard]] bool above(size_t count) const {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    return stack_.size() - floor >= count;
  }

  bool pop_mark() {
    if (marks_.empty()) return false;
    mark_ = marks_.back();
    marks_.pop_back();
    return true;
  }

  // The items from `first` on go into the list or dict below it.
  bool add(size_t first, Kind kind) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (first <= floor) return false;
    const Pickle::Value& target = out_.values_[stack_[first - 1]];
    const bool pairs = kind == Kind::kDict;
    if (target.kind != kind || (pairs && (stack_.size() - first) % 2 != 0)) {
      return false;
    }
    move_to(out_.lists_[target.number], first);
    return true;
  }

  bool tuple(size_t first) {
    out_.lists_.emplace_back();
    move_to(out_.lists_.back(), first);
    return push(Kind::kList, out_.lists_.size() - 1);
  }

  void move_to(std::vector<Ref>& list, size_t first) {
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(first);
    list.insert(list.end(), begin, stack_.end());
    stack_.erase(begin, stack_.end());
  }

  static constexpr Ref kNothing = UINT32_MAX;

  Pickle out_;
  size_t at_ = 0;
  bool ok_ = true;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  size_t mark_ = 0;
  std::vector<Ref> memo_;
  size_t refs_ = 0;  // ever made
};

Result<Pickle> Pickle::read(std::string_view bytes) {
  return PickleReader(bytes).read();
}

std::optional<int64_t> Pickle::integer(Ref ref) const {
  const Value& value = values_[ref];
  if (value.kind != Kind::kInteger && value.kind != Kind::kBool) return {};
  return static_cast<int64_t>(value.number);
}

std::optional<std::string_view> Pickle::text(Ref ref) const {
  const Value& value = values_[ref];
  if (value.kind != Kind::kText) return {};
  return bytes_.substr(value.number, value.size);
}

std::span<const Pickle::Ref> Pickle::items(Ref ref) const {
  const Value& value = values_[ref];
  if (value.kind != Kind::kList && value.kind != Kind::kDict) return {};
  return lists_[value.number];
}

std::optional<Pickle::Ref> Pickle::find(Ref ref, std::string_view key) const {
  if (kind(ref) != Kind::kDict) return {};
  const auto entries = items(ref);
  for (size_t i = 0; i + 1 < entries.size(); i += 2) {
    if (text(entries[i]) == key) return entries[i + 1];
  }
  return {};
}

}  // namespace muster
