// SPDX-License-Identifier: Apache-2.0
// Any bytes as a site file: values with a name and a line, or one sentence.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fabric/policy/site_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto site = parse_site_file(text, "S");
  if (!site) {
    if (site.error().text().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  for (const SiteValue& value : site->values) {
    if (value.name.empty() || !value.origin.starts_with("S:")) std::abort();
  }
  return 0;
}
