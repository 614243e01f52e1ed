// SPDX-License-Identifier: Apache-2.0
// LineSplitter: splits the bytes of one stream into whole lines. A text that
// ends in a lone '\r' is a state of a progress bar: only the newest counts, one
// per interval, and the last one before a real line is never lost. So is a text
// that ends in "cursor up" and a newline, with which nested bars draw the lower
// one. Strips blanks, backspaces and cursor movements around a state, and drops
// an empty one. A pure state machine; the caller brings the time. Memory: at
// most kMaxLine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

class LineSplitter {
 public:
  struct Piece {
    std::string_view text;  // valid during the call
    bool progress = false;  // a state of a bar, not a line
    bool more = false;      // the rest of the same line follows
  };
  using Sink = std::function<void(const Piece&)>;

  static constexpr size_t kMaxLine = 256 << 10;

  // interval_ns >= 0: the least time between two states that it passes on.
  explicit LineSplitter(int64_t interval_ns) : interval_ns_(interval_ns) {}

  void feed(std::string_view bytes, int64_t now_ns, const Sink& sink);
  // The end of the stream: releases the held text.
  void finish(const Sink& sink);
  // Text without an end yet; empty: none, or a bar's.
  [[nodiscard]] std::string_view partial() const {
    return after_return_ || told_any_ ? std::string_view{} : held_;
  }

 private:
  // `plain`: there is no '\r' in `bytes`.
  bool whole_line(std::string_view& bytes, bool plain, const Sink& sink);
  void cut_line(char next, const Sink& sink);
  void end_line(const Sink& sink);
  void end_state(int64_t now_ns, const Sink& sink);
  void line_or_state(int64_t now_ns, const Sink& sink);
  void tell_waiting(const Sink& sink);

  int64_t interval_ns_;
  int64_t told_ns_ = 0;
  bool told_any_ = false;
  bool after_return_ = false;  // '\r' seen: "\r\n" or a bar?
  bool within_ = false;        // a part of this line has been passed on
  std::string held_;
  std::string waiting_;  // newest state that was not passed on
};

}  // namespace muster
