// SPDX-License-Identifier: Apache-2.0
// The lines that `muster logs` prints, and its options. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "logs/level.h"
#include "logs/line_origin.h"

namespace re2 {
class RE2;
}

namespace muster {

struct LogFilter {
  std::string file = "-";
  std::set<int> ranks;  // empty: all
  std::string worker;   // host name, or a worker's number; empty: all
  LogLevel level = LogLevel::kTrace;
  int64_t since_ns = INT64_MIN;  // CLOCK_REALTIME
  int64_t until_ns = INT64_MAX;
  std::shared_ptr<const re2::RE2> grep;
  bool json = false;

  // Lines without a time pass --since and --until.
  [[nodiscard]] bool wants(const ParsedLine& line, LogLevel level) const;
};

// The usage, in one line.
extern const char* const kLogsUsage;

// `now_ns`: the end of "--since 10m". Error code "usage".
Result<LogFilter> parse_logs_options(const std::vector<std::string>& args,
                                     int64_t now_ns);
// "0-3,7" -> {0,1,2,3,7}; nullopt: not a list, or too high for any job.
std::optional<std::set<int>> parse_rank_set(std::string_view text);

}  // namespace muster
