// SPDX-License-Identifier: Apache-2.0
#include "logs/logs_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <map>
#include <tuple>

#include "base/fd.h"
#include "base/json_text.h"
#include "logs/level.h"
#include "logs/line_grouper.h"
#include "logs/line_reader.h"
#include "logs/log_filter.h"
#include "logs/part_joiner.h"

namespace muster {

namespace {

constexpr size_t kFlushAt = 64 << 10;
constexpr const char* kHowTo =
    "give it one: `kubectl logs POD -n NAMESPACE | muster logs`, or `muster "
    "logs FILE`";

void append_text_line(std::string& out, const ParsedLine& line) {
  if (line.time_ns >= 0) {
    append_timestamp(out, line.time_ns);
    out += ' ';
  }
  if (line.rank >= 0) {
    out += '[' + std::to_string(line.rank);
    if (!line.host.empty()) out += '|' + line.host;
    out += "] ";
  } else if (!line.source.empty() || !line.host.empty()) {
    out += '[' + (line.source.empty() ? line.host : line.source) + "] ";
  }
  out += line.message;
  out += '\n';
}

void append_json_line(std::string& out, const ParsedLine& line,
                      LogLevel level) {
  out += '{';
  if (line.time_ns >= 0) {
    out += "\"timestamp\":\"";
    append_timestamp(out, line.time_ns);
    out += "\",";
  }
  out += "\"level\":\"";
  out += to_text(level);
  out += "\",\"rank\":";
  out += line.rank >= 0 ? std::to_string(line.rank) : "null";
  if (!line.source.empty()) {
    out += ",\"source\":";
    append_json_string(out, line.source);
  }
  out += ",\"host\":";
  append_json_string(out, line.host);
  if (!line.stream.empty()) {
    out += ",\"stream\":";
    append_json_string(out, line.stream);
  }
  if (line.sequence > 0) out += ",\"seq\":" + std::to_string(line.sequence);
  if (line.progress) out += ",\"progress\":true";
  out += ",\"message\":";
  append_json_string(out, line.message);
  out += "}\n";
}

// The level of a log's lines: by their record, their mark, and their
// neighbours.
class Levels {
 public:
  LogLevel of(const ParsedLine& line) {
    const auto told = parse_level(line.level);
    const LogLevel own = told && *told != LogLevel::kInfo
                             ? *told
                             : detect_level(line.message, line.own_time)
                                   .value_or(LogLevel::kInfo);
    return level_at(step_of(line), own);
  }

 private:
  LineGrouper::Step step_of(const ParsedLine& line) {
    constexpr size_t kMostStreams = 4096;
    const auto key = std::tie(line.rank, line.host, line.stream);
    const bool full = groups_.size() >= kMostStreams && groups_.count(key) == 0;
    if (full || line.progress) return LineGrouper::Step::kAlone;
    return groups_[key].next(line.message, line.time_ns);
  }

  std::map<std::tuple<int, std::string, std::string>, LineGrouper> groups_;
};

void append_line(std::string& out, const LogFilter& filter, Levels& levels,
                 const ParsedLine& line) {
  const LogLevel level = levels.of(line);
  if (!filter.wants(line, level)) return;
  if (filter.json) {
    append_json_line(out, line, level);
  } else {
    append_text_line(out, line);
  }
}

int print_log(int fd, const LogFilter& filter) {
  LineReader reader(fd, LineReader::From::kFile);
  PartJoiner joiner;
  Levels levels;
  std::string out;
  bool any = false;
  while (const auto text = reader.next()) {
    any = true;
    if (const auto line = joiner.add(parse_line(*text))) {
      append_line(out, filter, levels, *line);
    }
    // For a log that is still written ("kubectl logs -f") everything so far.
    if (out.empty() || (out.size() < kFlushAt && reader.has_line())) continue;
    if (!write_all(STDOUT_FILENO, out)) return 1;
    out.clear();
  }
  for (const ParsedLine& line : joiner.rest())
    append_line(out, filter, levels, line);
  if (!out.empty() && !write_all(STDOUT_FILENO, out)) return 1;
  if (reader.error() != 0) {
    std::cerr << "muster: cannot read " << filter.file << ": "
              << reader.error_text() << '\n';
    return 1;
  }
  if (!any) {
    std::cerr << "muster logs: "
              << (filter.file == "-" ? "no log came on stdin"
                                     : filter.file + ": the log is empty")
              << "; " << kHowTo << '\n';
    return 1;
  }
  return 0;
}

}  // namespace

int logs_main(const std::vector<std::string>& args) {
  const auto filter = parse_logs_options(args, realtime_ns());
  if (!filter) {
    std::cerr << "muster: " << filter.error().text() << '\n';
    return 2;
  }
  if (filter->file == "-" && ::isatty(STDIN_FILENO) == 1) {
    std::cerr << "muster logs: stdin is a terminal, and no log; " << kHowTo
              << '\n';
    return 2;
  }
  if (filter->file == "-") return print_log(STDIN_FILENO, *filter);
  const UniqueFd file(::open(filter->file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    std::cerr << "muster: cannot open " << filter->file << ": "
              << std::strerror(errno) << '\n';
    return 1;
  }
  return print_log(file.get(), *filter);
}

}  // namespace muster
