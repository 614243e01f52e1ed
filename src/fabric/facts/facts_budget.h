// SPDX-License-Identifier: Apache-2.0
// Bounds the size of an expanded facts file: brackets, counts and fields that
// stand for several entries are copies, and copies within copies multiply.
// Pure.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace muster {

class FactsBudget {
 public:
  // Call it before making `copies` of a text or of a value; the error, of code
  // "facts_invalid", names `of`.
  Status spend(size_t copies, std::string_view text, std::string_view of);
  Status spend(size_t copies, const nlohmann::json& value, std::string_view of);

 private:
  Status take(size_t copies, size_t weight, std::string_view of);

  size_t left_ = 64 << 20;  // bytes, about the size as text
};

}  // namespace muster
