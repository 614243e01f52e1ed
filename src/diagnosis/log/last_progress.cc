// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/last_progress.h"

#include <re2/re2.h>

namespace muster {

namespace {

// A word for the unit and a number, mostly with the number of all: "Epoch:
// [45/100]", "epoch=3 step=700", "iteration 12 of 50", "step 1200".
const RE2& pattern() {
  static const RE2 kPattern(
      R"((?i)\b(epoch|step|iteration|iter|batch|round|global_step)\b)"
      R"([\s:=\[(#]{0,4}(\d{1,12})(?:\s*(?:/|of)\s*(\d{1,12}))?)");
  return kPattern;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::string progress_in(std::string_view line) {
  re2::StringPiece rest(line.data(), line.size());
  std::string unit;
  std::string at;
  std::string all;
  std::string first;
  while (RE2::FindAndConsume(&rest, pattern(), &unit, &at, &all)) {
    std::string found = lower(unit) + " " + at;
    if (!all.empty()) return found + "/" + all;
    if (first.empty()) first = std::move(found);
  }
  return first;
}

std::string last_progress(const std::vector<RankEvidence>& ranks) {
  std::string newest;
  int64_t time = -1;
  for (const RankEvidence& rank : ranks) {
    for (auto line = rank.lines.rbegin(); line != rank.lines.rend(); ++line) {
      if (line->time_ns <= time) break;
      std::string found = progress_in(line->text);
      if (found.empty()) continue;
      newest = std::move(found);
      time = line->time_ns;
      break;
    }
  }
  return newest;
}

}  // namespace muster
