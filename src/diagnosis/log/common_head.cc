// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/common_head.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "logs/line_origin.h"
#include "logs/mark_scan.h"

namespace muster {

namespace {

constexpr size_t kEnough = 12;
constexpr size_t kFewest = 4;  // of a log that is shorter
constexpr size_t kLongest = 160;

std::string shape_of(std::string_view line) {
  std::string shape(line.substr(0, kLongest));
  for (char& c : shape) {
    if (marks::digit(c)) c = '9';
  }
  return shape;
}

// Where a head's time ends: "99:99:99" behind a date at most, with fraction,
// zone and a closing bracket.
size_t end_of_time(std::string_view shape) {
  const size_t clock = shape.find("99:99:99");
  if (clock == std::string_view::npos || clock > 16) return 0;
  const std::string_view before = shape.substr(0, clock);
  const bool date = std::all_of(before.begin(), before.end(), [](char c) {
    return c == '9' ||
           std::string_view(" [(-/.,T>").find(c) != std::string_view::npos;
  });
  if (!date) return 0;
  const size_t end = shape.find_first_not_of("9:.,Z+-", clock);
  return std::min(end, shape.size());
}

// A part of a head that stands behind its time: "INFO", "-", "[base]",
// "{pods.py:999}", "__main__", "UTC]".
bool is_part(std::string_view word) {
  const std::string lower = to_lower(word);
  for (const std::string_view telling :
       {"err", "warn", "fatal", "crit", "severe", "rank", "std", "worker"}) {
    if (lower.find(telling) != std::string::npos) return false;
  }
  constexpr std::array<std::string_view, 10> kWords = {
      "info", "debug", "notice", "utc", "utc]", "]", "-", "|", "__main__", "i"};
  std::string_view bare = lower;
  while (bare.ends_with(':')) bare.remove_suffix(1);
  if (std::find(kWords.begin(), kWords.end(), bare) != kWords.end()) {
    return true;
  }
  const bool bracket = (word.starts_with('[') && word.ends_with(']')) ||
                       (word.starts_with('{') && word.ends_with('}')) ||
                       (word.starts_with('(') && word.ends_with(')'));
  return bracket && std::any_of(word.begin(), word.end(), [](unsigned char c) {
           return std::isalpha(c) != 0;
         });
}

// The head in what all lines begin with; 0: none.
size_t length_of_head(std::string_view shape) {
  size_t end = end_of_time(shape);
  if (end == 0) return 0;
  if (end < shape.size() && shape[end] == ']') ++end;
  if (end < shape.size() && shape[end] == ':') ++end;
  size_t head = 0;
  while (end < shape.size() && (shape[end] == ' ' || shape[end] == '\t')) {
    head = std::min(shape.find_first_not_of(" \t", end), shape.size());
    end = std::min(shape.find_first_of(" \t", head), shape.size());
    const std::string_view word = shape.substr(head, end - head);
    const bool column = end < shape.size() && shape[end] == '\t';
    if (end == shape.size() || !(column || is_part(word))) break;
  }
  return head;
}

// "trainer-1  | ".
std::string_view name_before_bar(std::string_view line, size_t& length) {
  std::string_view rest = line;
  const std::string_view name = marks::take_name(rest);
  const size_t bar = rest.find_first_not_of(' ');
  if (name.empty() || bar == 0 || bar == std::string_view::npos ||
      rest[bar] != '|') {
    return {};
  }
  length = name.size() + bar + 1;
  if (length < line.size() && line[length] == ' ') ++length;
  return name;
}

}  // namespace

void CommonHead::look(std::string_view line) {
  if (trim(line).empty()) return;
  const std::string shape = shape_of(line);
  if (lines_++ == 0) shape_ = shape;
  const auto [mine, theirs] =
      std::mismatch(shape_.begin(), shape_.end(), shape.begin(), shape.end());
  shape_.erase(mine, shape_.end());
  size_t length = 0;
  bar_ = bar_ && !name_before_bar(line, length).empty();
  const bool hopeless = !bar_ && end_of_time(shape_) == 0;
  if (hopeless || lines_ >= kEnough) decide();
}

void CommonHead::decide() {
  if (decided()) return;
  shape_.resize(length_of_head(shape_));
  state_ = lines_ < kFewest  ? State::kNone
           : bar_            ? State::kBar
           : !shape_.empty() ? State::kTime
                             : State::kNone;
}

CommonHead::Stripped CommonHead::strip(std::string_view line) const {
  Stripped result{line, -1, {}};
  size_t length = 0;
  if (state_ == State::kBar) {
    const std::string_view name = name_before_bar(line, length);
    if (marks::digit(name.empty() ? ' ' : name.back())) result.name = name;
  } else if (state_ == State::kTime && shape_of(line).starts_with(shape_)) {
    length = shape_.size();
    const std::string_view head = line.substr(0, length);
    const size_t date = head.find_first_of("0123456789");
    result.time_ns = parse_timestamp(head.substr(std::min(date, length)));
  }
  result.text = line.substr(length);
  return result;
}

}  // namespace muster
