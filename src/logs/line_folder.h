// SPDX-License-Identifier: Apache-2.0
// LineFolder: folds identical lines of many ranks into one, with the ranks that
// wrote it: "[0-63] loading model". Lines of one rank never change their order.
// A pure state machine with explicit time. Memory: at most kMaxHeld lines.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace muster {

class LineFolder {
 public:
  using Sink =
      std::function<void(const std::set<int>& ranks, const std::string& text)>;

  static constexpr size_t kMaxHeld = 256;

  // window_ns: how long a line waits for others like it. 0: no folding.
  LineFolder(int64_t window_ns, Sink sink)
      : window_ns_(window_ns), sink_(std::move(sink)) {}

  void add(int rank, std::string_view text, int64_t now_ns);
  // Releases lines that have waited long enough. Returns when to call again, or
  // -1.
  int64_t expire(int64_t now_ns);
  void flush();
  // Only lines that a line of this rank must not overtake.
  void flush(int rank);

 private:
  struct Held {
    std::string text;
    std::set<int> ranks;
    int64_t until_ns = 0;
  };

  void let_go();

  int64_t window_ns_;
  Sink sink_;
  std::deque<Held> held_;
};

// {0,1,2,5} -> "0-2,5".
std::string rank_set_text(const std::set<int>& ranks);

}  // namespace muster
