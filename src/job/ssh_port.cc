// SPDX-License-Identifier: Apache-2.0
// Keyword, blanks or one "=", value; keywords in any case. Pure.
#include "job/ssh_port.h"

#include <string>
#include <vector>

#include "base/text.h"

namespace muster {

std::optional<int> port_of_ssh_config(std::string_view text) {
  bool applies = true;
  for (const std::string_view raw : split(text, '\n')) {
    std::string line(raw.substr(0, raw.find('#')));
    for (char& character : line) {
      if (character == '=' || character == '"') character = ' ';
    }
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() < 2) continue;
    const std::string keyword = to_lower(words[0]);
    if (keyword == "host") applies = words.size() == 2 && words[1] == "*";
    if (keyword == "match") applies = to_lower(words[1]) == "all";
    if (keyword != "port" || !applies) continue;
    const auto port = parse_integer(words[1]);
    if (port && *port > 0 && *port < 65536) return static_cast<int>(*port);
  }
  return std::nullopt;
}

}  // namespace muster
