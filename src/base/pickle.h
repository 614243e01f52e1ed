// SPDX-License-Identifier: Apache-2.0
// Pickle: the plain data of a Python pickle (protocol 2 to 5, as PyTorch's C++
// pickler and Python write it): numbers, texts, lists, tuples, dicts, None. A
// pickle is a program, but this reader never executes it: it refuses opcodes
// that name, call or build a Python object in a sentence. Refuses: more than
// kLongest bytes, too many values, sets and the text forms of protocol 0.
// Values lie in one table and refer to each other by number, so that depth,
// sharing and cycles cost nothing; a caller that follows them must bound its
// way. Borrows the bytes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

class Pickle {
 public:
  using Ref = uint32_t;
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInteger,
    kFloat,  // its value is not kept
    kText,   // bytes as well
    kList,   // tuples as well
    kDict,
  };
  static constexpr size_t kLongest = 32 << 20;

  static Result<Pickle> read(std::string_view bytes);

  [[nodiscard]] Ref root() const { return root_; }
  [[nodiscard]] Kind kind(Ref ref) const { return values_[ref].kind; }
  // nullopt: `ref` is of another kind. A bool is an integer, as in Python.
  [[nodiscard]] std::optional<int64_t> integer(Ref ref) const;
  [[nodiscard]] std::optional<std::string_view> text(Ref ref) const;
  // Of a list; of a dict keys and values in turn; else empty.
  [[nodiscard]] std::span<const Ref> items(Ref ref) const;
  // The value of the dict `ref` under the text `key`.
  [[nodiscard]] std::optional<Ref> find(Ref ref, std::string_view key) const;

 private:
  friend class PickleReader;

  struct Value {
    Kind kind = Kind::kNone;
    uint32_t size = 0;    // of a text
    uint64_t number = 0;  // integer, offset of the text, or place in lists_
  };

  std::string_view bytes_;
  std::vector<Value> values_;
  std::vector<std::vector<Ref>> lists_;
  Ref root_ = 0;
};

}  // namespace muster
