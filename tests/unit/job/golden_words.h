// SPDX-License-Identifier: Apache-2.0
// Words of a shell-like line in a golden file: blanks, 'x', "x", \x.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

inline std::vector<std::string> golden_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == ' ') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c == '\\' && i + 1 < line.size() ? line[++i] : c;
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

}  // namespace muster
