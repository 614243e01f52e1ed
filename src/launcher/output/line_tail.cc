// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_tail.h"

#include <algorithm>
#include <cstring>

#include "logs/level.h"

namespace muster {

namespace {

constexpr size_t kLineLength = 400;
constexpr size_t kFollowing = 4;  // kept behind a line of trouble
constexpr size_t kFirst = 12;
constexpr size_t kLast = 20;

struct Head {
  int64_t time_ns;
  uint64_t length;
};

Head head_at(const std::string& kept, size_t at) {
  Head head;
  std::memcpy(&head, kept.data() + at, sizeof head);
  return head;
}

bool is_trouble(std::string_view text, const RuleBook* rules) {
  const auto level = detect_level(text);
  if (level && *level >= LogLevel::kWarn) return true;
  return rules != nullptr && !rules->look(text).matches.empty();
}

// Indices of the lines before `end` that look like trouble or stand behind one.
template <class Line>
std::vector<size_t> trouble(const std::vector<Line>& lines, size_t end,
                            const RuleBook* rules) {
  std::vector<size_t> out;
  size_t follow = 0;
  for (size_t i = 0; i < end; ++i) {
    if (is_trouble(lines[i].text, rules)) follow = 1 + kFollowing;
    if (follow == 0) continue;
    --follow;
    out.push_back(i);
  }
  if (out.size() > kFirst + kLast) {
    out.erase(out.begin() + kFirst, out.end() - kLast);
  }
  return out;
}

}  // namespace

void LineTail::keep(std::string_view line, int64_t time_ns) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  line = line.substr(0, kLineLength);
  const Head head{time_ns, line.size()};
  while (kept_.size() - start_ + sizeof head + line.size() > bytes_ &&
         start_ < kept_.size()) {
    start_ += sizeof(Head) + head_at(kept_, start_).length;
  }
  if (start_ > bytes_) {
    kept_.erase(0, start_);
    start_ = 0;
  }
  kept_.append(reinterpret_cast<const char*>(&head), sizeof head);
  kept_.append(line);
}

std::vector<LineTail::Line> LineTail::lines() const {
  std::vector<Line> out;
  for (size_t at = start_; at < kept_.size();) {
    const Head head = head_at(kept_, at);
    at += sizeof head;
    out.push_back(
        {head.time_ns, std::string_view(kept_).substr(at, head.length)});
    at += head.length;
  }
  return out;
}

void LineTail::append(const Line& line, std::vector<LineEvidence>& out) const {
  LineEvidence one;
  one.time_ns = line.time_ns;
  one.stderr_stream = is_stderr_;
  one.text = line.text;
  out.push_back(std::move(one));
}

void LineTail::append_to(std::vector<LineEvidence>& out,
                         const RuleBook* rules) const {
  const std::vector<Line> all = lines();
  const size_t last = all.size() - std::min(all.size(), limit_);
  for (const size_t i : trouble(all, last, rules)) append(all[i], out);
  for (size_t i = last; i < all.size(); ++i) append(all[i], out);
}

void LineTail::append_newest(std::vector<LineEvidence>& out) const {
  const std::vector<Line> all = lines();
  for (size_t i = all.size() - std::min(all.size(), limit_); i < all.size();
       ++i) {
    append(all[i], out);
  }
}

}  // namespace muster
