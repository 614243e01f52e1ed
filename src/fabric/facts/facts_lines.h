// SPDX-License-Identifier: Apache-2.0
// The line of a field in a facts file, for an error that names the field. Reads
// the text a second time for it, so that good files cost nothing. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

// `path`: "pods[1].hcas[0].rate_gbps", as the reader counts after it has
// expanded brackets; an expanded entry counts as the last one in the text.
// Counted from 1.
size_t line_of_field(std::string_view text, std::string_view path);

// The line of the longest quoted part of the message; 0 if the text has none.
size_t line_of_quoted(std::string_view text, std::string_view message);

}  // namespace muster
