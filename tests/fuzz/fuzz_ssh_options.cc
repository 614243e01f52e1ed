// SPDX-License-Identifier: Apache-2.0
// Any command line of ssh, one word a line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "job/ssh_options.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  for (const auto word : muster::split(text, '\n')) words.emplace_back(word);
  const auto parsed = muster::parse_ssh_arguments(words);
  if (!parsed || parsed->version) return 0;
  if (parsed->host.empty() || parsed->host[0] == '-' || parsed->port < 0 ||
      parsed->port > 65535 || parsed->command.empty()) {
    std::abort();
  }
  return 0;
}
