// SPDX-License-Identifier: Apache-2.0
// fmt and spdlog as headers, here alone: two shared libraries less to load for
// every process, and with them the C++ runtime's (docs/design.md, "Build").
#define FMT_HEADER_ONLY
#undef SPDLOG_COMPILED_LIB
#undef SPDLOG_SHARED_LIB
#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/json_text.h"
#include "base/log_record.h"
#include "base/printable.h"

namespace muster::log {

namespace {

struct State {
  // Recursive: a sink may log itself.
  std::recursive_mutex mutex;
  std::atomic<Level> level{Level::kInfo};  // also options.level
  Options options;                         // guarded, as all below
  std::shared_ptr<spdlog::logger> logger;
  std::function<void(std::string)> sink;
};

// The only process-wide state of the log; created on first use.
State& state() {
  static State instance;
  return instance;
}

const char* level_name(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarn:
      return "warn";
    case Level::kError:
      return "error";
  }
  return "info";
}

std::string json_record(const Options& options, Level level,
                        std::string_view text, std::string_view field) {
  std::string line = "{\"timestamp\":\"";
  append_timestamp(line, realtime_ns());
  line += "\",\"level\":\"";
  line += level_name(level);
  line += "\",\"role\":";
  append_json_string(line, options.role);
  if (!options.host.empty()) {
    line += ",\"host\":";
    append_json_string(line, options.host);
  }
  line += ",\"message\":";
  append_json_string(line, printable_lines(text));
  if (!field.empty()) {
    line += ',';
    line += field;
  }
  line += '}';
  return line;
}

// With the mutex held.
void put(State& log, const std::string& line) {
  if (log.sink) {
    log.sink(line + "\n");
    return;
  }
  if (!log.logger) {
    log.logger = std::make_shared<spdlog::logger>(
        "muster", std::make_shared<spdlog::sinks::stderr_sink_st>());
    log.logger->set_pattern("%v");
    log.logger->set_level(spdlog::level::trace);
    log.logger->flush_on(spdlog::level::trace);
  }
  log.logger->log(spdlog::level::info, line);
}

}  // namespace

void configure(const Options& options) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  log.options = options;
  log.level = options.level;
}

void redirect(std::function<void(std::string)> sink) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  log.sink = std::move(sink);
}

bool enabled(Level level) { return level >= state().level.load(); }

void write(Level level, fmt::string_view format, fmt::format_args values) {
  if (enabled(level)) write(level, fmt::vformat(format, values));
}

void write(Level level, std::string_view text) {
  if (!enabled(level)) return;
  State& log = state();
  const std::lock_guard lock(log.mutex);
  std::string line;
  if (log.options.json) {
    line = json_record(log.options, level, text, {});
  } else {
    line = "muster: ";
    if (level == Level::kWarn) line += "warning: ";
    if (level == Level::kError) line += "error: ";
    if (level == Level::kDebug) line += "debug: ";
    // A newline in the text must not begin a line that looks like ours.
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view part = text.substr(at, end - at);
      if (at > 0) line += part.starts_with("  ") ? "\n" : "\n  ";
      line += printable_line(part);
      at = end + 1;
    }
  }
  put(log, line);
}

void write_record(Level level, std::string_view message,
                  std::string_view field) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  if (!log.options.json) return;
  put(log, json_record(log.options, level, message, field));
}

}  // namespace muster::log
