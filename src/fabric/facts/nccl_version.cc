// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/nccl_version.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

std::string NcclVersion::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch);
}

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  // "v2.27.3-1", "NCCL version 2.21.5+cuda12.4", as in logs and tags.
  text.remove_prefix(std::min(text.size(), text.find_first_of("0123456789")));
  text = text.substr(0, text.find_first_not_of("0123456789."));
  const auto parts = split(text, '.');
  NcclVersion version;
  int* const fields[] = {&version.major, &version.minor, &version.patch};
  for (size_t i = 0; i < parts.size() && i < 3; ++i) {
    const auto number = parse_integer(parts[i]);
    if (!number || *number < 0 || *number > 99'999) return std::nullopt;
    *fields[i] = static_cast<int>(*number);
  }
  if (parts.size() == 1 && version.major >= 2000) {
    const int code = version.major;  // 2804 before 2.9, 22105 since
    return code < 10'000
               ? NcclVersion{code / 1000, code / 100 % 10, code % 100}
               : NcclVersion{code / 10'000, code / 100 % 100, code % 100};
  }
  if (parts.size() < 2) return std::nullopt;
  return version;
}

}  // namespace muster
