// SPDX-License-Identifier: Apache-2.0
// How much a facts file may become: brackets, counts and fields that stand for
// several entries are copies, and copies within copies multiply. Pure.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace muster {

class FactsBudget {
 public:
  // `copies` of a text or of a value are about to be made; `of` is named in
  // the error, whose code is "facts_invalid".
  Status spend(size_t copies, std::string_view text, std::string_view of);
  Status spend(size_t copies, const nlohmann::json& value, std::string_view of);

 private:
  Status take(size_t copies, size_t weight, std::string_view of);

  size_t left_ = 64 << 20;  // bytes, about as the text would be
};

}  // namespace muster
