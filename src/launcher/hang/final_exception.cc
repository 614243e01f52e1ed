// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/final_exception.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "logs/line_grouper.h"
#include "stacks/frame_names.h"

namespace muster {

namespace {

// Output so soon after an exception belongs to the same end: more lines of its
// message, exit handlers.
constexpr int64_t kTogetherNs = 2'000'000'000;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// "torch.cuda.OutOfMemoryError: …", "KeyError: 3", "AssertionError".
bool names_exception(std::string_view line) {
  size_t end = 0;
  while (end < line.size() && is_word(line[end])) ++end;
  const std::string_view name = line.substr(0, end);
  const std::string_view rest = line.substr(end);
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         (rest.empty() || rest == ":" || rest.starts_with(": "));
}

bool is_frame(std::string_view line) { return line.starts_with("  File \""); }

// The exception's line of the last traceback of one stream; -1: there is none.
int exception_at(const std::vector<std::string_view>& lines) {
  for (size_t i = lines.size(); i-- > 1;) {
    if (!names_exception(lines[i]) || !lines[i - 1].starts_with("  ")) {
      continue;
    }
    size_t first = i;
    bool framed = false;
    while (first > 0 && lines[first - 1].starts_with("  ")) {
      --first;
      framed = framed || is_frame(lines[first]);
    }
    if (!framed) continue;
    // "Traceback (most recent call last):", which may be out of sight.
    if (first > 1 && lines[first - 2].starts_with("Exception ignored in")) {
      return -1;
    }
    return static_cast<int>(i);
  }
  return -1;
}

bool is_exit_call(std::string_view function) {
  static constexpr std::array<std::string_view, 4> kCalls = {
      "exit", "_exit", "__run_exit_handlers", "__libc_exit"};
  return function.find("inalize") != std::string_view::npos ||
         std::find(kCalls.begin(), kCalls.end(), function) != kCalls.end();
}

}  // namespace

std::optional<std::string> final_exception(
    const std::vector<LineEvidence>& lines) {
  for (const bool stderr_stream : {true, false}) {
    std::vector<std::string_view> texts;
    std::vector<int64_t> times;
    for (const LineEvidence& line : lines) {
      if (line.stderr_stream != stderr_stream) continue;
      texts.push_back(without_rank_mark(line.text));
      times.push_back(line.time_ns);
    }
    const int found = exception_at(texts);
    if (found < 0) continue;
    const auto at = static_cast<size_t>(found);
    const bool last = std::all_of(
        lines.begin(), lines.end(), [&times, at](const LineEvidence& line) {
          return line.time_ns <= times[at] + kTogetherNs;
        });
    if (last) return std::string(texts[at]);
  }
  return std::nullopt;
}

std::string first_frame(const std::vector<LineEvidence>& lines) {
  for (const bool stderr_stream : {true, false}) {
    std::vector<std::string_view> texts;
    for (const LineEvidence& line : lines) {
      if (line.stderr_stream == stderr_stream) {
        texts.push_back(without_rank_mark(line.text));
      }
    }
    const int found = exception_at(texts);
    if (found < 0) continue;
    auto at = static_cast<size_t>(found);
    while (at > 0 && texts[at - 1].starts_with("  ")) --at;
    if (at == 0 || texts[at - 1] != "Traceback (most recent call last):") {
      return {};
    }
    // `  File "/app/train.py", line 6, in <module>`
    const std::string_view frame = texts[at];
    const size_t end = frame.find("\", line ");
    const size_t in = frame.rfind(", in ");
    if (!is_frame(frame) || end == std::string_view::npos ||
        in == std::string_view::npos || in < end) {
      return {};
    }
    const std::string_view function = frame.substr(in + 5);
    if (function != "<module>" && function != "_run_module_as_main") return {};
    constexpr size_t kBefore = 8;   // `  File "`
    constexpr size_t kBetween = 8;  // `", line `
    return std::string(frame.substr(end + kBetween, in - end - kBetween)) +
           " " + std::string(frame.substr(kBefore, end - kBefore));
  }
  return {};
}

std::string state_text(const StuckRank& rank) {
  constexpr size_t kMost = 80;
  return "in " + (rank.call.empty() ? "its last steps" : rank.call) +
         " after " + one_line(rank.exception, kMost);
}

LeavingPlace leaving_place(const std::vector<std::string>& frames) {
  LeavingPlace place;
  place.known = !frames.empty();
  bool interpreter = false;
  bool script = false;
  // From the outside: the first call of that kind is the one people know.
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::string_view function = function_of(*frame);
    interpreter = interpreter || function == "Py_RunMain";
    script = script || function.find("EvalCode") != std::string_view::npos;
    if (is_exit_call(function)) {
      place.leaving = true;
      place.call = function;
    }
    // An MPI may call its own from there at once, as Open MPI does.
    const std::string call = to_lower(place.call);
    if (call.find("mpi_finalize") != std::string::npos) break;
  }
  // Behind a script there are only the interpreter's own calls.
  if (interpreter && !script) place.leaving = true;
  return place;
}

std::string stuck_text(const std::vector<StuckRank>& ranks) {
  constexpr size_t kTold = 3;
  std::string text;
  for (size_t i = 0; i < ranks.size() && i < kTold; ++i) {
    const StuckRank& one = ranks[i];
    text += (i > 0 ? "; rank " : "rank ") + std::to_string(one.rank) + " on " +
            one.host + " raised \"" + one.exception + "\" and does not end";
    if (one.call.find("inalize") != std::string::npos) {
      text += ": it waits for the other ranks in " + one.call;
    } else if (!one.call.empty()) {
      text += ": it is in " + one.call;
    }
  }
  if (ranks.size() > kTold) {
    text += "; and " + std::to_string(ranks.size() - kTold) + " more ranks";
  }
  return text;
}

}  // namespace muster
