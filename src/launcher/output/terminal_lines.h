// SPDX-License-Identifier: Apache-2.0
// TerminalLines: forms of ranks' lines for a terminal: folds equal ones of
// several ranks into one, and keeps progress bars in the last line, below
// everything else. Both are off by default. Refuses: to compare lines that come
// too fast. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "logs/line_folder.h"
#include "logs/status_line.h"

namespace muster {

class TerminalLines {
 public:
  struct Options {
    Milliseconds fold{0};  // equal lines within it become one; 0: never
    bool status_line = false;
  };

  // `write` gets text for stdout in one piece.
  TerminalLines(Loop& loop, Options options,
                std::function<void(std::string)> write);

  // The tag of a single rank's line, for a line that stays alone of its kind.
  void name_rank(int rank, const std::string& tag);
  // true: takes the whole line and prints it folded. false: prints earlier
  // folded lines first. rank -1: no rank's; `alone`: it may be taken.
  bool fold(int rank, std::string_view line, bool alone);
  // true: the line is a state of a bar and stays in the last line. `over`: a
  // whole line of its stream has come, or its end.
  bool bar(StatusLine::Owner owner, const std::string& tag,
           std::string_view line, bool over);
  // `text` with the codes that keep the bars below it.
  std::string around(std::string text);
  // Prints everything held, and removes the bars.
  void finish();

 private:
  void write_folded();

  Options options_;
  std::function<void(std::string)> write_;
  Timer timer_;
  StatusLine bars_;
  std::unique_ptr<LineFolder> folder_;
  std::string folded_;
  std::map<int, std::string> tags_;  // of single ranks' lines that were folded
  int64_t window_ = 0;
  size_t lines_in_window_ = 0;
};

}  // namespace muster
