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

#include "base/json_text.h"
#include "base/log_record.h"

namespace muster::log {

namespace {

struct State {
  Options options;
  std::shared_ptr<spdlog::logger> logger;
  std::function<void(std::string)> sink;
};

// The only process-wide state of the log; created on first use.
State& state() {
  static State instance = [] {
    auto logger = std::make_shared<spdlog::logger>(
        "muster", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    return State{{}, std::move(logger), {}};
  }();
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

std::string json_record(Level level, std::string_view text,
                        std::string_view field) {
  const Options& options = state().options;
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
  append_json_string(line, text);
  if (!field.empty()) {
    line += ',';
    line += field;
  }
  line += '}';
  return line;
}

void put(const std::string& line) {
  if (state().sink) {
    state().sink(line + "\n");
  } else {
    state().logger->log(spdlog::level::info, line);
  }
}

}  // namespace

void configure(const Options& options) { state().options = options; }

void redirect(std::function<void(std::string)> sink) {
  state().sink = std::move(sink);
}

bool enabled(Level level) { return level >= state().options.level; }

void write(Level level, fmt::string_view format, fmt::format_args values) {
  if (enabled(level)) write(level, fmt::vformat(format, values));
}

void write(Level level, std::string_view text) {
  if (!enabled(level)) return;
  std::string line;
  if (state().options.json) {
    line = json_record(level, text, {});
  } else {
    line = "muster: ";
    if (level == Level::kWarn) line += "warning: ";
    if (level == Level::kError) line += "error: ";
    if (level == Level::kDebug) line += "debug: ";
    line += text;
  }
  put(line);
}

void write_record(Level level, std::string_view message,
                  std::string_view field) {
  if (!state().options.json) return;
  put(json_record(level, message, field));
}

}  // namespace muster::log
