// SPDX-License-Identifier: Apache-2.0
// Appends JSON strings for the hot path (one flat object per line): escapes,
// and repairs bytes that are not UTF-8 to U+FFFD, so that any output of any
// rank becomes valid JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

// With the quotes.
void append_json_string(std::string& out, std::string_view text);
// CLOCK_REALTIME nanoseconds -> "2026-01-31T12:34:56.123456789Z".
void append_timestamp(std::string& out, int64_t realtime_ns);
int64_t realtime_ns();

}  // namespace muster
