// SPDX-License-Identifier: Apache-2.0
// Small text helpers shared by the parsers. All are strict: a number with
// anything behind it is not a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// Splits at any run of blanks; no empty parts.
std::vector<std::string_view> split_words(std::string_view text);
std::string join(const std::vector<std::string>& parts,
                 std::string_view separator);
std::optional<int64_t> parse_integer(std::string_view text);
// The same; nothing where an int cannot hold it.
std::optional<int> parse_int(std::string_view text);
// "90", "90s", "15m", "2h", "3d", "1h30m", "250ms" -> milliseconds (>= 0).
std::optional<int64_t> parse_duration_ms(std::string_view text);
// 1536 -> "1.5 KiB", for people.
std::string human_bytes(uint64_t bytes);
// 61500 -> "61.5 s", 120 -> "120 ms", 150000 -> "2 min 30 s".
std::string human_duration_ms(int64_t milliseconds);
// The same without parts of a second: 61500 -> "61 s".
std::string human_seconds(int64_t milliseconds);
// Quotes for /bin/sh only where needed.
std::string shell_quote(std::string_view word);
std::string to_lower(std::string_view text);
// At most `most` bytes, and no part of a UTF-8 character at their end.
std::string_view utf8_prefix(std::string_view text, size_t most);
// The same, with blanks for control characters: always one line.
std::string one_line(std::string_view text, size_t most);
// Whether `part` is a view into the bytes of `whole`, not an equal text.
bool lies_in(std::string_view part, std::string_view whole);
// A name that Kubernetes takes: a-z 0-9 - . and at most 63 of them.
bool is_dns_name(std::string_view text);
// Insertions, deletions and replacements of a byte.
size_t edit_distance(std::string_view a, std::string_view b);
// The candidate nearest to `word` by edits, if near enough to be a typo.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace muster
