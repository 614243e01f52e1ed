// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/unknown_tail.h"

#include <cctype>
#include <utility>

#include "base/text.h"
#include "logs/level.h"

namespace muster {

namespace {

constexpr size_t kMost = 12;

bool says_retry(std::string_view text) {
  return to_lower(trim(text)).starts_with("retry");
}

}  // namespace

bool UnknownTail::may_count(const LineEvidence& line) {
  if (says_retry(line.text) && !lines_.empty()) lines_.pop_back();
  return !goes_on_calmly(line) && !is_wrapped(line);
}

void UnknownTail::add(Candidate candidate) {
  lines_.push_back(std::move(candidate));
  if (lines_.size() > kMost) lines_.pop_front();
}

void UnknownTail::take(size_t last, size_t went_on,
                       std::vector<Candidate>& out) {
  for (Candidate& candidate : lines_) {
    if (candidate.order < went_on || candidate.order + kMost <= last) continue;
    out.push_back(std::move(candidate));
  }
  *this = {};
}

// "WARNING: The mechanism is", and in the next line "not available due to".
bool UnknownTail::goes_on_calmly(const LineEvidence& line) {
  const auto level = detect_level(line.text);
  const char first = line.text.empty() ? ' ' : line.text.front();
  const bool begins = (first < 'a' || first > 'z') && first != ' ';
  const bool next = line.time_ns - calm_ns_ <= kLogLineNs;
  const bool calm = level ? *level <= LogLevel::kWarn : next && !begins;
  if (calm) calm_ns_ = line.time_ns;
  return calm;
}

// The second line of a long sentence says nothing by itself.
bool UnknownTail::is_wrapped(const LineEvidence& line) {
  constexpr size_t kLongLine = 50;
  const std::string_view before = last_text_;
  const bool open =
      before.size() >= kLongLine &&
      (before.back() == ',' ||
       std::isalnum(static_cast<unsigned char>(before.back())) != 0);
  const bool next = line.time_ns - last_ns_ <= kLogLineNs;
  last_text_ = trim(line.text);
  last_ns_ = line.time_ns;
  return open && next && !last_text_.empty() &&
         std::islower(static_cast<unsigned char>(last_text_.front())) != 0 &&
         last_text_.find(':') == std::string_view::npos;
}

}  // namespace muster
