// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/last_progress.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"

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

// "loss=0.693", "'loss': 2.34", "lm loss: 1.2E+00"; not "val_loss".
const RE2& loss_pattern() {
  static const RE2 kPattern(
      R"((?i)\b(?:train_|training_)?loss\b['"]?[\s:=]{1,4})"
      R"(([-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)\b)");
  return kPattern;
}

}  // namespace

std::vector<ProgressMark> progress_marks(std::string_view line) {
  re2::StringPiece rest(line.data(), line.size());
  std::vector<ProgressMark> out;
  std::string unit;
  std::string at;
  std::string all;
  while (RE2::FindAndConsume(&rest, pattern(), &unit, &at, &all)) {
    out.push_back({to_lower(unit), parse_integer(at).value_or(0),
                   parse_integer(all).value_or(0)});
  }
  return out;
}

std::string progress_text(const std::vector<ProgressMark>& marks) {
  std::string out;
  for (const ProgressMark& mark : marks) {
    out += (out.empty() ? "" : " ") + mark.unit + " " + std::to_string(mark.at);
    if (mark.total > 0) out += "/" + std::to_string(mark.total);
  }
  return out;
}

std::string loss_in(std::string_view line) {
  std::string out;
  RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), loss_pattern(),
                    &out);
  return out;
}

std::string progress_in(std::string_view line) {
  const auto marks = progress_marks(line);
  if (marks.empty()) return {};
  const auto with_total =
      std::find_if(marks.begin(), marks.end(),
                   [](const auto& mark) { return mark.total > 0; });
  return progress_text(
      {with_total == marks.end() ? marks.front() : *with_total});
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
