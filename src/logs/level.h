// SPDX-License-Identifier: Apache-2.0
// The level of a line, from the marks that logging libraries put in front
// (Python logging, glog and absl, PyTorch, TensorFlow, NCCL, UCX, libfabric,
// Open MPI, spdlog, JSON and logfmt) and from the last line of a traceback.
// Ignores words inside the message: "error" in a metric's name is not an error.
// Pure.
#pragma once

#include <optional>
#include <string_view>

namespace muster {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError, kFatal };

// "trace" … "fatal".
const char* to_text(LogLevel level);
// Any usual spelling: "warning", "ERR", "critical", "I".
std::optional<LogLevel> parse_level(std::string_view word);
// Nothing if the line has no known mark. Looks at its first 160 bytes.
// `behind_time`: the program's own time was removed from its front.
std::optional<LogLevel> detect_level(std::string_view line,
                                     bool behind_time = false);

}  // namespace muster
