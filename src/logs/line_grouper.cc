// SPDX-License-Identifier: Apache-2.0
#include "logs/line_grouper.h"

#include <algorithm>

namespace muster {

namespace {

bool opens_python(std::string_view line) {
  while (line.starts_with(' ') || line.starts_with('|')) line.remove_prefix(1);
  if (line.starts_with("+ Exception Group ")) line.remove_prefix(18);
  return line.starts_with("Traceback (most recent call last)");
}

// "[host:17] *** Process received signal ***" of Open MPI, "==== backtrace
// (tid: 17) ====" of UCX.
bool opens_dump(std::string_view line) {
  return (line.ends_with("***") &&
          line.find("*** Process received signal ***") !=
              std::string_view::npos) ||
         (line.ends_with("====") &&
          line.find("==== backtrace (tid:") != std::string_view::npos);
}

// Of Python's faulthandler, which has no last line.
bool opens_faulthandler(std::string_view line) {
  return line.starts_with("Fatal Python error: ");
}

bool of_faulthandler(std::string_view line) {
  return line.empty() || line.starts_with("  ") ||
         line.starts_with("Current thread") || line.starts_with("Thread 0x") ||
         line.starts_with("Python runtime state:") ||
         line.starts_with("Extension modules:");
}

bool closes_dump(std::string_view line) {
  return line.find("*** End of error message ***") != std::string_view::npos ||
         line.ends_with("=================================");
}

// Between two tracebacks of one chain.
bool chains(std::string_view line) {
  return line.starts_with("During handling of the above exception") ||
         line.starts_with("The above exception was the direct cause");
}

// A quick test that rejects nearly every line: the first character of a line
// that opens a traceback, the last one of a line that opens a dump.
bool may_open(std::string_view line) {
  constexpr std::string_view kFirst = " |+TDF";
  return !line.empty() &&
         (kFirst.find(line.front()) != std::string_view::npos ||
          line.back() == '*' || line.back() == '=');
}

}  // namespace

std::string_view without_rank_mark(std::string_view line) {
  while (line.starts_with("[rank") || line.starts_with("[default")) {
    constexpr size_t kLongest = 20;
    const size_t end = line.substr(0, kLongest).find("]:");
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 2);
    if (line.starts_with(' ')) line.remove_prefix(1);
  }
  return line;
}

LineGrouper::Step LineGrouper::next(std::string_view line, int64_t time_ns) {
  line = without_rank_mark(line);
  if (kind_ != Kind::kNone &&
      (time_ns - last_ns_ > kGroupGapNs || lines_ >= kMaxGroupLines)) {
    kind_ = Kind::kNone;
  }
  last_ns_ = time_ns;
  if (kind_ == Kind::kFaulthandler && !of_faulthandler(line)) {
    kind_ = Kind::kNone;
  }
  if (kind_ == Kind::kNone) {
    if (!may_open(line)) return Step::kAlone;
    if (opens_python(line) || chains(line)) {
      kind_ = Kind::kPython;
    } else if (opens_dump(line)) {
      kind_ = Kind::kStackDump;
    } else if (opens_faulthandler(line)) {
      kind_ = Kind::kFaulthandler;
    } else {
      return Step::kAlone;
    }
    lines_ = 1;
    return Step::kOpens;
  }
  ++lines_;
  if (kind_ == Kind::kFaulthandler) return Step::kContinues;
  if (kind_ == Kind::kStackDump) {
    if (!closes_dump(line)) return Step::kContinues;
    kind_ = Kind::kNone;
    return Step::kCloses;
  }
  const bool inside = line.empty() || line.front() == ' ' ||
                      line.front() == '\t' || opens_python(line) ||
                      chains(line);
  if (inside) return Step::kContinues;
  kind_ = Kind::kNone;  // the exception itself
  return Step::kCloses;
}

LogLevel level_at(LineGrouper::Step step, LogLevel own) {
  return step == LineGrouper::Step::kAlone ? own
                                           : std::max(own, LogLevel::kError);
}

}  // namespace muster
