// SPDX-License-Identifier: Apache-2.0
// muster's own messages to stderr: text for people, JSON lines for machines.
// spdlog writes and fmt formats; only log.cc compiles them. Rank output never
// goes through here. Any thread: lines come one after the other, and a message
// below the level costs no lock.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>

namespace muster::log {

enum class Level { kDebug, kInfo, kWarn, kError };

struct Options {
  Level level = Level::kInfo;
  bool json = false;
  std::string role = "launcher";  // field "role" in JSON
  std::string host;               // field "host" in JSON
};

void configure(const Options& options);
// Where finished lines go instead of stderr; empty: stderr again. For a
// process whose loop must not wait for a slow reader of its stderr. The sink is
// called on the thread that logs, one line at a time, and not any more once
// redirect() has returned; it must not wait for another thread that may log.
void redirect(std::function<void(std::string line)> sink);
void write(Level level, std::string_view text);
// The same with fmt's placeholders; formats only messages that are printed.
void write(Level level, fmt::string_view format, fmt::format_args values);
bool enabled(Level level);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kDebug, format, fmt::make_format_args(args...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kInfo, format, fmt::make_format_args(args...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kWarn, format, fmt::make_format_args(args...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kError, format, fmt::make_format_args(args...));
}

}  // namespace muster::log
