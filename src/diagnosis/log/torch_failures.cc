// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/torch_failures.h"

#include "base/text.h"

namespace muster {

namespace {
constexpr int kLongestList = 4096;
}  // namespace

bool TorchFailures::is_later_failure(std::string_view line) {
  line = trim(line);
  if (line == "Failures:") {
    inside_ = true;
    left_ = kLongestList;
    return false;
  }
  if (!inside_) return false;
  if (line.starts_with("Root Cause") || --left_ == 0) {
    inside_ = false;
    return false;
  }
  for (const std::string_view field :
       {"time ", "host ", "rank ", "exitcode ", "error_file:", "traceback :"}) {
    if (line.starts_with(field)) return true;
  }
  return false;
}

}  // namespace muster
