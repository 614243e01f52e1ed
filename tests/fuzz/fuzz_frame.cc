// SPDX-License-Identifier: Apache-2.0
// Any bytes as a stream of frames, in two pieces; frames that come out encode
// to the bytes that went in.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::wire;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1),
                              size - 1);
  const size_t cut = text.empty() ? 0 : data[0] % text.size();
  FrameReader reader;
  std::string encoded;
  for (std::string_view part : {text.substr(0, cut), text.substr(cut)}) {
    for (;;) {
      const auto frame = reader.next(part);
      if (!frame) return 0;
      if (!*frame) break;
      encode(**frame, encoded);
      static_cast<void>(parse_output((*frame)->payload));
      static_cast<void>(parse_u32((*frame)->payload));
    }
  }
  if (!text.starts_with(encoded)) std::abort();
  return 0;
}
