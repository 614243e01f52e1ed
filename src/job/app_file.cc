// SPDX-License-Identifier: Apache-2.0
#include "job/app_file.h"

#include "base/text.h"

namespace muster {

Result<std::vector<std::string>> words_with_app_file(const MpirunLine& line,
                                                     std::string_view text) {
  const auto refuse = [&line](std::string why, std::string hint) {
    return fail(Error{"usage", "cannot take over the file of programs",
                      std::move(why), line.app_file, std::move(hint)});
  };
  if (!line.apps.empty()) {
    return refuse("the line names a program, too",
                  "Write all programs in the file, or all on the line with a "
                  "colon between them.");
  }
  std::vector<std::string> words;
  auto option = line.options.begin();
  for (size_t at = 0; at < line.words.size();) {
    while (option != line.options.end() && option->at < at) ++option;
    if (option != line.options.end() && option->at == at &&
        option->meaning == OptionMeaning::kAppFile) {
      at += option->count;
    } else {
      words.push_back(line.words[at++]);
    }
  }
  bool first = true;
  for (const std::string_view row : split(text, '\n')) {
    auto more = split_words(row.substr(0, row.find('#')));
    if (!more.empty() && more.back() == ":") more.pop_back();
    if (more.empty()) continue;
    if (!first) words.emplace_back(":");
    first = false;
    words.insert(words.end(), more.begin(), more.end());
  }
  if (first) {
    return refuse("it names no program",
                  "Write a line for each program, as in -np 2 ./app.");
  }
  return words;
}

}  // namespace muster
