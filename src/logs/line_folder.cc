// SPDX-License-Identifier: Apache-2.0
#include "logs/line_folder.h"

#include <algorithm>

namespace muster {

void LineFolder::add(int rank, std::string_view text, int64_t now_ns) {
  expire(now_ns);
  // From the newest back to this rank's own last line: joining an older one
  // would move this line before it.
  for (auto held = held_.rbegin(); held != held_.rend(); ++held) {
    const bool own = held->ranks.contains(rank);
    if (!own && held->text == text) {
      held->ranks.insert(rank);
      return;
    }
    if (own) break;
  }
  if (held_.size() == kMaxHeld) let_go();
  held_.push_back({std::string(text), {rank}, now_ns + window_ns_});
  if (window_ns_ <= 0) flush();
}

int64_t LineFolder::expire(int64_t now_ns) {
  while (!held_.empty() && held_.front().until_ns <= now_ns) let_go();
  return held_.empty() ? -1 : held_.front().until_ns;
}

void LineFolder::flush() {
  while (!held_.empty()) let_go();
}

void LineFolder::flush(int rank) {
  const auto newest =
      std::find_if(held_.rbegin(), held_.rend(),
                   [rank](const auto& h) { return h.ranks.contains(rank); });
  for (auto left = held_.rend() - newest; left > 0; --left) let_go();
}

void LineFolder::let_go() {
  sink_(held_.front().ranks, held_.front().text);
  held_.pop_front();
}

std::string rank_set_text(const std::set<int>& ranks) {
  std::string text;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto last = first;
    while (std::next(last) != ranks.end() && *std::next(last) == *last + 1) {
      ++last;
    }
    if (!text.empty()) text += ',';
    text += std::to_string(*first);
    if (last != first) text += '-' + std::to_string(*last);
    first = std::next(last);
  }
  return text;
}

}  // namespace muster
