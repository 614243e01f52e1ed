// SPDX-License-Identifier: Apache-2.0
// Any words (separated by NUL) as an mpirun line. A rewrite that replaces
// nothing may drop options, but keeps every program word for word.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "job/mpirun_line.h"
#include "job/mpirun_rewrite.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\0')) {
    words.emplace_back(word);
  }
  const auto line = parse_mpirun_line(words);
  if (!line) return 0;
  const auto rewritten = rewrite_mpirun_line(*line, {});
  if (!rewritten) std::abort();  // without a wrapper nothing is refused
  const auto again = parse_mpirun_line(rewritten->words, line->launchers);
  if (!again) return 0;
  if (again->apps.size() != line->apps.size()) std::abort();
  for (size_t i = 0; i < line->apps.size(); ++i) {
    if (again->apps[i].argv != line->apps[i].argv) std::abort();
  }
  return 0;
}
