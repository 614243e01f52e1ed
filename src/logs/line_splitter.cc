// SPDX-License-Identifier: Apache-2.0
#include "logs/line_splitter.h"

#include <algorithm>

namespace muster {

namespace {

// Where the escape sequence that ends `text` begins ("\x1b[2A"), if it moves
// the cursor up or erases a line; the end of `text` if none does.
size_t movement_at_end(std::string_view text) {
  if (text.empty() || (text.back() != 'A' && text.back() != 'K')) {
    return text.size();
  }
  size_t at = text.size() - 1;
  while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9') --at;
  if (at < 2 || text.substr(at - 2, 2) != "\x1b[") return text.size();
  return at - 2;
}

bool ends_above(std::string_view text) {
  return text.ends_with('A') && movement_at_end(text) < text.size();
}

// Whether a secret follows: "token:", "--password", "Bearer", "-----BEGIN RSA".
bool leads_to_secret(std::string_view before) {
  constexpr size_t kKeyHead = 40;
  const std::string_view head =
      before.substr(before.size() - std::min(before.size(), kKeyHead));
  const std::string_view word =
      before.substr(before.find_last_of(' ') + 1);  // 0: it has no begin
  return head.find("-----BEGIN") != std::string_view::npos ||
         word.ends_with(':') || word.ends_with('=') || word.starts_with('-') ||
         word == "Bearer" || word == "Basic" || word == "Token" ||
         word == "bearer" || word == "basic" || word == "token";
}

// The cut of a line that is too long: behind one of its last blanks or commas,
// so that no secret is split and missed in both parts. The end of `text`, if
// there is no such place.
size_t place_to_cut(std::string_view text) {
  constexpr size_t kLookBack = 2048;
  const size_t least = text.size() - std::min(text.size(), kLookBack);
  for (size_t at = text.size(); at > least; --at) {
    const char c = text[at - 1];
    if (c != ' ' && c != ',') continue;
    if (!leads_to_secret(text.substr(least, at - 1 - least))) return at;
  }
  return text.size();
}

bool is_filler(char c) { return c == ' ' || c == '\b' || c == '\r'; }

std::string_view trimmed_state(std::string_view text) {
  for (size_t size = text.size() + 1; text.size() < size;) {
    size = text.size();
    while (!text.empty() && is_filler(text.back())) text.remove_suffix(1);
    text = text.substr(0, movement_at_end(text));
  }
  // Blanks in front stay, for they align, unless the cursor moves behind them.
  for (;;) {
    const size_t begin = text.find_first_not_of(" \b\r");
    if (begin == std::string_view::npos) return {};
    const size_t end = text.find_first_of("AK", begin);
    if (end != std::string_view::npos &&
        movement_at_end(text.substr(begin, end + 1 - begin)) == 0) {
      text.remove_prefix(end + 1);
    } else {
      text.remove_prefix(text.substr(0, begin).find_last_not_of(' ') + 1);
      break;
    }
  }
  return text;
}

}  // namespace

void LineSplitter::feed(std::string_view bytes, int64_t now_ns,
                        const Sink& sink) {
  // Tested once, not for each of the many lines that have none.
  const bool plain = bytes.find('\r') == std::string_view::npos;
  while (!bytes.empty()) {
    if (whole_line(bytes, plain, sink)) continue;
    if (after_return_) {
      after_return_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        line_or_state(now_ns, sink);
        continue;
      }
      end_state(now_ns, sink);
    }
    const size_t end = bytes.find_first_of("\r\n");
    const std::string_view text = bytes.substr(0, end);
    const size_t room = kMaxLine - held_.size();
    if (text.size() > room) {
      held_.append(text.substr(0, room));
      cut_line(text[room], sink);
      bytes.remove_prefix(room);
      continue;
    }
    held_.append(text);
    if (end == std::string_view::npos) return;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!after_return_) line_or_state(now_ns, sink);
  }
}

// The usual case without a copy: a whole line, with nothing held before it.
bool LineSplitter::whole_line(std::string_view& bytes, bool plain,
                              const Sink& sink) {
  if (after_return_ || within_ || !held_.empty()) return false;
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos || end > kMaxLine) return false;
  const std::string_view line = bytes.substr(0, end);
  if (!plain && line.find('\r') != std::string_view::npos) return false;
  if (ends_above(line)) return false;
  tell_waiting(sink);
  sink({line, false, false});
  bytes.remove_prefix(end + 1);
  return true;
}

void LineSplitter::finish(const Sink& sink) {
  if (after_return_ && !within_) {
    const std::string_view state = trimmed_state(held_);
    if (!state.empty()) waiting_ = state;
    held_.clear();
  }
  after_return_ = false;
  tell_waiting(sink);
  if (!held_.empty() || within_) sink({held_, false, false});
  within_ = false;
  held_.clear();
}

// Cuts the held text, which `next` follows, but never within a UTF-8 character.
void LineSplitter::cut_line(char next, const Sink& sink) {
  size_t end = held_.size();
  const auto inside = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
  };
  for (int i = 0; i < 3 && inside(next); ++i) next = held_[--end];
  if (inside(next)) end = held_.size();  // no UTF-8 anyway
  end = place_to_cut(std::string_view(held_).substr(0, end));
  tell_waiting(sink);
  sink({std::string_view(held_).substr(0, end), false, true});
  held_.erase(0, end);
  within_ = true;
}

void LineSplitter::end_line(const Sink& sink) {
  tell_waiting(sink);
  sink({held_, false, false});
  held_.clear();
  within_ = false;
}

void LineSplitter::line_or_state(int64_t now_ns, const Sink& sink) {
  if (ends_above(held_)) {
    end_state(now_ns, sink);
  } else {
    end_line(sink);
  }
}

void LineSplitter::end_state(int64_t now_ns, const Sink& sink) {
  if (within_) {
    end_line(sink);
    return;
  }
  const std::string_view state = trimmed_state(held_);
  if (state.empty()) {  // "\r" before the first state, a bar that is wiped out
    held_.clear();
    return;
  }
  waiting_ = state;
  held_.clear();
  // A clock may be set back.
  if (told_any_ && now_ns >= told_ns_ && now_ns - told_ns_ < interval_ns_) {
    return;
  }
  told_any_ = true;
  told_ns_ = now_ns;
  tell_waiting(sink);
}

void LineSplitter::tell_waiting(const Sink& sink) {
  if (waiting_.empty()) return;
  sink({waiting_, true, false});
  waiting_.clear();
}

}  // namespace muster
