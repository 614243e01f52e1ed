// SPDX-License-Identifier: Apache-2.0
// What the job's command and a traceback tell, as words for the sentences of
// the rules.
#include <algorithm>

#include "base/text.h"
#include "diagnosis/cause/candidate.h"

namespace muster {

// Also "--per_device_train_batch_size=16".
std::string batch_of(const std::vector<std::string>& argv) {
  for (size_t i = 0; i < argv.size(); ++i) {
    std::string word = to_lower(argv[i]);
    std::replace(word.begin(), word.end(), '-', '_');
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (!name.ends_with("batch_size") && name != "__bs" && name != "_b" &&
        name != "__batch") {
      continue;
    }
    const std::string value = equals != std::string::npos
                                  ? argv[i].substr(equals + 1)
                                  : (i + 1 < argv.size() ? argv[i + 1] : "");
    if (parse_integer(value)) return value;
  }
  return {};
}

std::string place_of_exception(const Evidence& evidence,
                               const Candidate& winner) {
  const RankEvidence* const rank = find_rank(evidence, winner.rank);
  const auto& lines = rank != nullptr && !rank->lines.empty()
                          ? rank->lines
                          : evidence.job.tool_lines;
  std::string place;
  for (const LineEvidence& line : lines) {
    if (trim(line.text) == winner.line && !place.empty()) break;
    const std::string_view text = trim(line.text);
    if (!text.starts_with("File \"")) continue;
    const size_t end = text.find('"', 6);
    const size_t number = text.find(", line ");
    if (end == std::string_view::npos || number == std::string_view::npos) {
      continue;
    }
    std::string_view digits = text.substr(number + 7);
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    place = std::string(text.substr(6, end - 6)) + ":" + std::string(digits);
  }
  return place;
}

}  // namespace muster
