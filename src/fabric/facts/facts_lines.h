// SPDX-License-Identifier: Apache-2.0
// On which line of a facts file a field stands, for an error that names the
// field. The text is read a second time for it, so that good files cost
// nothing. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

// `path`: "pods[1].hcas[0].rate_gbps", as the reader counts after brackets are
// expanded; what is not in the text as such is taken for the last that is
// there. Counted from 1.
size_t line_of_field(std::string_view text, std::string_view path);

// Where the longest quoted part of the message is; 0 if none is in the text.
size_t line_of_quoted(std::string_view text, std::string_view message);

}  // namespace muster
