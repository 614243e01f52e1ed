// SPDX-License-Identifier: Apache-2.0
// Hand-written scanners: they run on every line of every log.
#include "logs/line_origin.h"

#include <algorithm>
#include <ctime>
#include <optional>

#include "job/json_fields.h"
#include "logs/mark_scan.h"

namespace muster {

namespace {

constexpr int kMaxPrefixes = 5;
constexpr size_t kMaxRecord = 64 << 10;

using marks::digit;
using marks::take_word;

std::optional<int> take_number(std::string_view& text) {
  constexpr size_t kMostDigits = 7;  // a process's number, too
  return marks::take_number(text, kMostDigits);
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

void take_blank(std::string_view& text) { take(text, " "); }

// "<stdout>:" after a tag.
bool take_stream(std::string_view& text, ParsedLine& line) {
  for (const std::string_view name : {"stdout", "stderr", "stddiag"}) {
    std::string_view rest = text;
    if (!take(rest, "<") || !take(rest, name) || !take(rest, ">:")) continue;
    line.stream = name == "stddiag" ? "stderr" : name;
    text = rest;
    take_blank(text);
    return true;
  }
  return false;
}

// "[1,3]<stderr>:" of Open MPI and PRRTE, "[3]<stdout>:" of horovodrun,
// "[3] " of Hydra.
bool take_numbered_tag(std::string_view& text, ParsedLine& line) {
  std::string_view rest = text;
  if (!take(rest, "[")) return false;
  auto rank = take_number(rest);
  if (!rank) return false;
  bool pair = false;
  if (take(rest, ",")) {
    rank = take_number(rest);
    if (!rank) return false;
    pair = true;
  }
  if (take(rest, "|")) {  // muster: [3|host]
    const size_t end = rest.find(']');
    if (end == std::string_view::npos || end == 0) return false;
    line.host = rest.substr(0, end);
    line.rank = *rank;
    rest.remove_prefix(end + 1);
    take_blank(rest);
    text = rest;
    return true;
  }
  if (!take(rest, "]")) return false;
  const bool stream = take_stream(rest, line);
  if (!stream) {
    if (pair || !take(rest, " ")) return false;
  }
  line.rank = *rank;
  text = rest;
  return true;
}

// "[rank3]:" of PyTorch, "[Rank-5] ", "[RANK 3]:".
bool take_named_tag(std::string_view& text, ParsedLine& line) {
  std::string_view rest = text;
  if (!take(rest, "[") || !take_word(rest, "rank")) return false;
  if (!rest.empty() &&
      std::string_view(" -_:").find(rest.front()) != std::string_view::npos) {
    rest.remove_prefix(1);
  }
  const auto rank = take_number(rest);
  if (!rank || !take(rest, "]")) return false;
  take(rest, ":");
  take_blank(rest);
  line.rank = *rank;
  text = rest;
  return true;
}

// "[default0]:" of torchrun: a local rank, which says little.
bool take_torchrun_tag(std::string_view& text) {
  std::string_view rest = text;
  if (!take(rest, "[default") || !take_number(rest) || !take(rest, "]:")) {
    return false;
  }
  take_blank(rest);
  text = rest;
  return true;
}

// "  3: " of srun --label.
bool take_srun_label(std::string_view& text, ParsedLine& line) {
  std::string_view rest = text;
  while (take(rest, " ")) {
  }
  const auto rank = take_number(rest);
  if (!rank || !take(rest, ": ")) return false;
  line.rank = *rank;
  text = rest;
  return true;
}

// "[pod/NAME/CONTAINER] " of kubectl logs --prefix.
bool take_pod_prefix(std::string_view& text, ParsedLine& line) {
  std::string_view rest = text;
  if (!take(rest, "[pod/")) return false;
  const size_t slash = rest.find('/');
  const size_t end = rest.find("] ");
  if (slash == std::string_view::npos || end == std::string_view::npos ||
      slash > end) {
    return false;
  }
  line.host = rest.substr(0, slash);
  text = rest.substr(end + 2);
  return true;
}

// "Worker_TP3_EP3" of vLLM, where tensors alone are split over the ranks.
int rank_of_worker(std::string_view name) {
  for (const std::string_view other : {"DP", "PP"}) {
    if (name.find(other) != std::string_view::npos) return -1;
  }
  const size_t at = name.find("_TP");
  if (!name.starts_with("Worker") || at == std::string_view::npos) return -1;
  std::string_view rest = name.substr(at + 3);
  return take_number(rest).value_or(-1);
}

// "(RayTrainWorker pid=4711, ip=10.0.0.3) " of Ray, "(EngineCore_0 pid=12) ".
// vLLM also tells "(VllmWorker rank=3 pid=12) ".
bool take_ray_prefix(std::string_view& text, ParsedLine& line) {
  if (!text.starts_with('(')) return false;
  const size_t end = text.find(") ");
  // Of old only "(pid=4711, ip=10.0.0.3) ".
  const size_t pid = text.starts_with("(pid=") ? 1 : text.find(" pid=");
  if (end == std::string_view::npos || pid > end || end > 200) return false;
  const size_t rank = text.find(" rank=");
  if (rank < pid) {
    std::string_view rest = text.substr(rank + 6);
    if (const auto number = take_number(rest)) line.rank = *number;
  }
  if (line.rank < 0) line.rank = rank_of_worker(text.substr(1, pid - 1));
  const size_t address = text.find(" ip=");
  if (address < end) {
    const std::string_view rest = text.substr(address + 4, end - address - 4);
    line.host = rest.substr(0, rest.find_first_of(", )"));
  }
  text.remove_prefix(end + 2);
  return true;
}

bool all_of(std::string_view text, bool (*fits)(char)) {
  for (const char c : text) {
    if (!fits(c)) return false;
  }
  return !text.empty();
}

// "10.0.0.7: " and "job-worker-3: " of pdsh. Other words before a colon too
// often mean something else.
bool take_pdsh_prefix(std::string_view& text, ParsedLine& line) {
  const size_t end = text.find(": ");
  if (end == std::string_view::npos || end > 253) return false;
  const std::string_view name = text.substr(0, end);
  const bool address =
      all_of(name, [](char c) { return digit(c) || c == '.'; }) &&
      std::count(name.begin(), name.end(), '.') == 3;
  const size_t dash = name.rfind('-');
  const bool worker = dash != std::string_view::npos &&
                      all_of(name.substr(dash + 1), digit) &&
                      name.substr(0, dash).ends_with("worker") &&
                      name.find_first_of(" @") == std::string_view::npos;
  if (!address && !worker) return false;
  line.host = name;
  text.remove_prefix(end + 2);
  return true;
}

// "Fri Sep 25 16:52:53 2020[0]<stderr>:" of horovodrun and mpirun
// --timestamp-output: the tag follows at once.
bool take_ctime(std::string_view& text, ParsedLine& line) {
  constexpr std::string_view kShape = "aaa aaa dd dd:dd:dd dddd";
  if (text.size() <= kShape.size()) return false;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const char c = text[i];
    const bool fits = kShape[i] == 'a'
                          ? std::isalpha(static_cast<unsigned char>(c)) != 0
                      : kShape[i] == 'd' ? digit(c) || (c == ' ' && i == 8)
                                         : c == kShape[i];
    if (!fits) return false;
  }
  const char next = text[kShape.size()];
  if (next != '[' && next != '<') return false;
  text.remove_prefix(kShape.size());
  take_stream(text, line);
  return true;
}

// A time, and for a raw container log "stdout F " behind it.
bool take_time(std::string_view& text, ParsedLine& line) {
  if (text.empty() || !digit(text.front())) return false;
  size_t used = 0;
  const int64_t time = parse_timestamp(text, &used);
  if (time < 0 || used >= text.size() || text[used] != ' ') return false;
  line.time_ns = time;
  line.own_time = text[10] == ' ';  // container runtimes write a T
  text.remove_prefix(used + 1);
  for (const std::string_view stream : {"stdout", "stderr"}) {
    std::string_view rest = text;
    if (!take(rest, stream)) continue;
    if (take(rest, " F ") || take(rest, " P ")) {
      line.stream = stream;
      text = rest;
    }
  }
  return true;
}

bool take_record(std::string_view text, ParsedLine& line) {
  if (text.size() > kMaxRecord || !text.starts_with("{\"") ||
      text.find("\"message\"") == std::string_view::npos) {
    return false;
  }
  JsonReader reader(text, "log record");
  ParsedLine read;
  std::string timestamp;
  reader.field("timestamp", timestamp);
  reader.field("level", read.level);
  reader.field("rank", read.rank);
  reader.field("host", read.host);
  reader.field("stream", read.stream);
  reader.field("source", read.source);
  reader.field("seq", read.sequence);
  reader.field("progress", read.progress);
  reader.field("part", read.part);
  reader.field("last", read.last_part);
  reader.required("message", read.message);
  if (!reader.status()) return false;
  read.time_ns = parse_timestamp(timestamp);
  read.is_record = true;
  if (read.host.empty()) read.host = line.host;
  line = std::move(read);
  return true;
}

// "[E ProcessGroupNCCL.cpp:616] [Rank 1] …", "[PG 0 Rank 1]": PyTorch's own
// mark inside its message; it stays there.
void read_inner_rank(std::string_view text, ParsedLine& line) {
  const std::string_view head = text.substr(0, 160);
  if (head.find("ProcessGroup") == std::string_view::npos) return;
  for (const std::string_view mark : {"[Rank ", " Rank "}) {
    const size_t at = head.find(mark);
    if (at == std::string_view::npos) continue;
    std::string_view rest = head.substr(at + mark.size());
    const auto rank = take_number(rest);
    if (!rank || !rest.starts_with(']')) continue;
    line.rank = *rank;
    return;
  }
}

}  // namespace

int64_t parse_timestamp(std::string_view text, size_t* used) {
  // YYYY-MM-DDTHH:MM:SS
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kShape.size()) return -1;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool fits = kShape[i] == 'd'   ? digit(text[i])
                      : kShape[i] == 'T' ? text[i] == 'T' || text[i] == ' '
                                         : text[i] == kShape[i];
    if (!fits) return -1;
  }
  const auto number = [&text](size_t at, size_t length) {
    int value = 0;
    for (size_t i = at; i < at + length; ++i)
      value = value * 10 + text[i] - '0';
    return value;
  };
  std::tm parts = {};
  parts.tm_year = number(0, 4) - 1900;
  parts.tm_mon = number(5, 2) - 1;
  parts.tm_mday = number(8, 2);
  parts.tm_hour = number(11, 2);
  parts.tm_min = number(14, 2);
  parts.tm_sec = number(17, 2);
  if (parts.tm_year < 70 || parts.tm_mon < 0 || parts.tm_mon > 11 ||
      parts.tm_year > 300) {
    return -1;
  }
  int64_t nanoseconds = 0;
  size_t at = kShape.size();
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    int64_t unit = 100'000'000;
    for (++at; at < text.size() && digit(text[at]); ++at, unit /= 10) {
      nanoseconds += unit * (text[at] - '0');
    }
  }
  int64_t offset = 0;
  if (at < text.size() && text[at] == 'Z') {
    ++at;
  } else if (at + 6 <= text.size() && (text[at] == '+' || text[at] == '-') &&
             digit(text[at + 1]) && digit(text[at + 2]) &&
             text[at + 3] == ':' && digit(text[at + 4]) &&
             digit(text[at + 5])) {
    offset = number(at + 1, 2) * 3600 + number(at + 4, 2) * 60;
    if (text[at] == '-') offset = -offset;
    at += 6;
  }
  if (used != nullptr) *used = at;
  return (static_cast<int64_t>(::timegm(&parts)) - offset) * 1'000'000'000 +
         nanoseconds;
}

ParsedLine parse_line(std::string_view text) {
  ParsedLine line;
  if (text.ends_with('\r')) text.remove_suffix(1);
  for (int i = 0; i < kMaxPrefixes; ++i) {
    if (take_record(text, line)) return line;
    const bool taken = take_pod_prefix(text, line) || take_time(text, line) ||
                       take_ctime(text, line) || take_ray_prefix(text, line) ||
                       take_named_tag(text, line) || take_torchrun_tag(text) ||
                       take_pdsh_prefix(text, line) ||
                       (line.rank < 0 && (take_numbered_tag(text, line) ||
                                          take_srun_label(text, line)));
    if (!taken) break;
  }
  if (line.rank < 0) read_inner_rank(text, line);
  line.message = text;
  return line;
}

}  // namespace muster
