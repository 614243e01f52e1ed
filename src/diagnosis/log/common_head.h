// SPDX-License-Identifier: Apache-2.0
// CommonHead: the head that a log tool put in front of every line of a log, of
// any writer: a time, with the tool's own level and name behind it
// ("[2026-11-22, 10:00:00 UTC] {pods.py:466} INFO - [base] "), or the name of a
// container and a bar. Learnt from a log's first lines, which must all have it.
// Refuses heads with a rank or a level: those are the program's own. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

class CommonHead {
 public:
  void look(std::string_view line);
  // The log is over.
  void decide();
  [[nodiscard]] bool decided() const { return state_ != State::kOpen; }

  struct Stripped {
    std::string_view text;
    int64_t time_ns = -1;  // in the head; -1: none
    std::string_view name;
  };
  [[nodiscard]] Stripped strip(std::string_view line) const;

 private:
  enum class State { kOpen, kNone, kTime, kBar };

  State state_ = State::kOpen;
  size_t lines_ = 0;
  std::string shape_;  // what all lines begin with, each digit a '9'
  bool bar_ = true;    // each began with a name and a bar
};

}  // namespace muster
