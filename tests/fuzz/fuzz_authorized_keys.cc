// SPDX-License-Identifier: Apache-2.0
// authorized_keys as a Secret may hold it: no key comes out of nothing, and
// nobody's line floods the log.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sshd-lite/authorized_keys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = muster::parse_authorized_keys(text, "fuzz");
  if (parsed.keys.size() > muster::kMaxAuthorizedKeys) std::abort();
  if (parsed.ignored.size() > 18) std::abort();
  for (const auto& key : parsed.keys) {
    // What was taken must stand in the text, word for word.
    if (text.find(key.public_base64()) == std::string_view::npos) std::abort();
  }
  return 0;
}
