// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/json_line.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "logs/level.h"

namespace muster {

namespace {

constexpr size_t kMostFields = 64;
constexpr int64_t kMostRanks = 1 << 20;

struct Field {
  std::string_view name;
  std::string value;
};

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

// Behind its first quote; false: it does not end. Keeps other escapes: no rule
// needs them.
bool take_string(std::string_view& text, std::string& value) {
  while (!text.empty() && text.front() != '"') {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '\\' && !text.empty()) {
      const char escaped = text.front();
      c = escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
      if (escaped == 'u') value += '\\';
      text.remove_prefix(1);
    }
    value += c;
  }
  if (text.empty()) return false;
  text.remove_prefix(1);
  return true;
}

// `"name": value` in front of `text`, and the comma behind it. A value that is
// not a string ends at the next comma: it reads an object's fields as the
// line's.
bool take_field(std::string_view& text, Field& field) {
  skip_blanks(text);
  if (!text.starts_with('"')) return false;
  const size_t quote = text.find('"', 1);
  if (quote == std::string_view::npos) return false;
  field.name = text.substr(1, quote - 1);
  text.remove_prefix(quote + 1);
  skip_blanks(text);
  if (!text.starts_with(':')) return false;
  text.remove_prefix(1);
  skip_blanks(text);
  if (text.starts_with('{')) {
    text.remove_prefix(1);
    return true;
  }
  if (text.starts_with('"')) {
    text.remove_prefix(1);
    if (!take_string(text, field.value)) return false;
  } else {
    const size_t end = std::min(text.find_first_of(",}"), text.size());
    field.value = trim(text.substr(0, end));
    text.remove_prefix(end);
  }
  text.remove_prefix(std::min(text.find_first_not_of("} \t"), text.size()));
  if (text.starts_with(',')) text.remove_prefix(1);
  return true;
}

template <size_t kCount>
bool is_one_of(std::string_view name,
               const std::array<std::string_view, kCount>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 3> kRank = {"rank", "global_rank",
                                                   "world_rank"};
constexpr std::array<std::string_view, 6> kHost = {
    "host", "hostname", "node", "node_name", "pod", "pod_name"};
constexpr std::array<std::string_view, 5> kTime = {"ts", "time", "timestamp",
                                                   "asctime", "@timestamp"};
constexpr std::array<std::string_view, 4> kLevel = {"level", "levelname",
                                                    "severity", "lvl"};
constexpr std::array<std::string_view, 13> kText = {
    "msg",        "message",  "event",      "text",     "err",
    "error",      "exc_info", "exception",  "exc_text", "traceback",
    "stacktrace", "stack",    "stack_trace"};

}  // namespace

bool read_json_line(ParsedLine& line) {
  std::string_view text = line.message;
  if (!text.starts_with("{\"")) return false;
  text.remove_prefix(1);
  std::string told;
  std::string log;
  std::optional<LogLevel> level;
  Field field;
  for (size_t i = 0; i < kMostFields && take_field(text, field); ++i) {
    if (is_one_of(field.name, kRank) && line.rank < 0) {
      const auto rank = parse_integer(field.value);
      if (rank && *rank >= 0 && *rank < kMostRanks) {
        line.rank = static_cast<int>(*rank);
      }
    } else if (is_one_of(field.name, kHost) && line.host.empty()) {
      line.host = field.value;
    } else if (is_one_of(field.name, kTime) && line.time_ns < 0) {
      line.time_ns = parse_timestamp(field.value);
    } else if (is_one_of(field.name, kLevel)) {
      level = parse_level(field.value);
    } else if (field.name == "log") {  // of a container, by any writer
      log = field.value;
    } else if (is_one_of(field.name, kText) && field.value != "null") {
      told += (told.empty() ? "" : "\n") + field.value;
    }
    field.value.clear();
  }
  if (!log.empty()) {
    line.message = std::move(log);
    read_json_line(line);  // of a program that writes such lines itself
    return true;
  }
  if (!level || *level < LogLevel::kError || told.empty()) return false;
  line.message = std::move(told);
  return true;
}

}  // namespace muster
