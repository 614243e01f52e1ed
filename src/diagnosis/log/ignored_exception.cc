// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/ignored_exception.h"

#include "base/text.h"

namespace muster {

namespace {
constexpr int kLongestTraceback = 200;
}  // namespace

bool IgnoredException::is_part(std::string_view line) {
  if (trim(line).starts_with("Exception ignored in")) {
    left_ = kLongestTraceback;
    return true;
  }
  if (left_ == 0) return false;
  --left_;
  const bool above_the_end =
      line.starts_with(' ') || line.starts_with("Traceback");
  if (above_the_end) return true;
  left_ = 0;
  // "ValueError: …", the line that ends the traceback, or something else.
  const size_t colon = line.find(": ");
  return line.substr(0, colon).find(' ') == std::string_view::npos;
}

}  // namespace muster
