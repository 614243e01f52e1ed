// SPDX-License-Identifier: Apache-2.0
// StatusLine: the last line of a terminal, rewritten in place with the progress
// bar of the lowest rank that shows one and the number of others, below the
// scrolling text. A pure state machine: it makes the bytes, the caller writes
// them. Drops a bar's escape sequences, and cuts text beyond the width, or the
// line could not be erased again.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

class StatusLine {
 public:
  using Owner = std::pair<int, int>;  // rank and stream

  void set(Owner owner, std::string_view tag, std::string_view state);
  void remove(Owner owner);
  // `bytes`, which end at a line's end or are empty, with codes that remove the
  // status line before and draw it again behind; "" if there is nothing to
  // write.
  std::string around(std::string_view bytes, size_t width);
  // Takes it away and does not draw it again.
  std::string erase();

 private:
  [[nodiscard]] std::string line(size_t width) const;

  std::map<Owner, std::string> bars_;
  std::string shown_;
};

}  // namespace muster
