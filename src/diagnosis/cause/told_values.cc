// SPDX-License-Identifier: Apache-2.0
// Turns the job's command and a traceback into values for the sentences of the
// rules.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "diagnosis/cause/candidate.h"
#include "diagnosis/log/writer_mark.h"
#include "logs/line_origin.h"

namespace muster {

// Also "--per_device_train_batch_size=16".
std::string batch_of(const std::vector<std::string>& argv) {
  for (size_t i = 0; i < argv.size(); ++i) {
    std::string word = to_lower(argv[i]);
    std::replace(word.begin(), word.end(), '-', '_');
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (!name.ends_with("batch_size") && name != "__bs" && name != "_b" &&
        name != "__batch") {
      continue;
    }
    const std::string value = equals != std::string::npos
                                  ? argv[i].substr(equals + 1)
                                  : (i + 1 < argv.size() ? argv[i + 1] : "");
    if (parse_integer(value)) return value;
  }
  return {};
}

namespace {

// "[rank3]: ", "(TrainWorker pid=7) " and the like in front of each line.
std::string without_mark(std::string_view text) {
  const std::string own = parse_line(text).message;
  return std::string(trim(read_writer_mark(trim(own)).rest));
}

// A file of Python itself, or of a package, is not the user's.
bool is_of_library(std::string_view file) {
  for (const std::string_view part :
       {"/site-packages/", "/dist-packages/", "<frozen ", "/lib/python",
        "/lib64/python", "/lib/pypy"}) {
    if (file.find(part) != std::string_view::npos ||
        file.starts_with(part.substr(1))) {
      return true;
    }
  }
  return false;
}

struct Frame {
  std::string file;
  std::string line;
};

// `File "/app/train.py", line 12, in main`.
std::optional<Frame> frame_in(std::string_view text) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = ", line ";
  if (!text.starts_with(kFile)) return std::nullopt;
  const size_t end = text.find('"', kFile.size());
  const size_t number = text.find(kLine);
  if (end == std::string_view::npos || number == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(number + kLine.size());
  return Frame{
      std::string(text.substr(kFile.size(), end - kFile.size())),
      std::string(digits.substr(0, digits.find_first_not_of("0123456789")))};
}

const std::vector<LineEvidence>& lines_of(const Evidence& evidence,
                                          const Candidate& winner) {
  const RankEvidence* const rank = find_rank(evidence, winner.rank);
  return rank != nullptr && !rank->lines.empty() ? rank->lines
                                                 : evidence.job.tool_lines;
}

}  // namespace

// The innermost frame of the user's own code; without one, the innermost frame.
std::string place_of_exception(const Evidence& evidence,
                               const Candidate& winner) {
  Frame own;
  Frame last;
  for (const LineEvidence& line : lines_of(evidence, winner)) {
    if (trim(line.text) == winner.line && !last.file.empty()) break;
    const std::string text = without_mark(line.text);
    if (text.starts_with("Traceback (most recent call last)")) own = last = {};
    if (const auto frame = frame_in(text)) {
      last = *frame;
      if (!is_of_library(frame->file)) own = *frame;
    }
  }
  const Frame& best = own.file.empty() ? last : own;
  if (best.file.empty()) return {};
  return best.file + ":" + best.line;
}

// Python does not say in a PermissionError why a file was opened; the line of
// the traceback that opens it does.
bool opens_to_read(const Evidence& evidence, const Candidate& winner) {
  std::string before;
  for (const LineEvidence& line : lines_of(evidence, winner)) {
    if (trim(line.text) == winner.line && !before.empty()) break;
    const std::string text = without_mark(line.text);
    if (text.find("open(") != std::string_view::npos) before = text;
  }
  if (before.empty()) return false;
  for (const std::string_view mode : {"'w", "\"w", "'a", "\"a", "'x", "\"x",
                                      "+'", "+\"", "mode=", "os.open(", "O_"}) {
    if (before.find(mode) != std::string_view::npos) return false;
  }
  return true;
}

std::string unfinished_work(const Captures& facts) {
  auto told = facts.find("epoch");  // of which steps are a part
  if (told == facts.end()) told = facts.find("progress");
  if (told == facts.end()) return {};
  const std::string& text = told->second;
  constexpr std::string_view kDigits = "0123456789";
  const auto number_at = [&text, kDigits](size_t at) {
    const size_t end = text.find_first_not_of(kDigits, at);
    return parse_int(text.substr(at, end - at));
  };
  const size_t first = text.find_first_of(kDigits);
  const size_t behind = text.find_first_not_of(kDigits, first);
  const size_t second = text.find_first_of(kDigits, behind);
  if (second == std::string::npos) return {};
  const auto done = number_at(first);
  const auto of = number_at(second);
  // The first one may be the 0th.
  const bool far = done && of && *done + int64_t{1} < int64_t{*of} * 9 / 10;
  return far ? text : std::string();
}

bool holds_path(std::string_view line) {
  return line.starts_with('/') || line.find(" /") != line.npos ||
         line.find("'/") != line.npos || line.find("\"/") != line.npos;
}

}  // namespace muster
