// SPDX-License-Identifier: Apache-2.0
// muster's own messages to stderr: text for people, JSON lines for machines.
// spdlog does the writing; only log.cc includes it. Rank output never goes
// through here. Thread-safe.
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
// process whose loop must not wait for a slow reader of its stderr.
void redirect(std::function<void(std::string line)> sink);
void write(Level level, std::string_view text);
bool enabled(Level level);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kDebug)) {
    write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace muster::log
