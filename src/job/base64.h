// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648 section 4, with padding) for bytes that are not text, and
// the test whether they are. Strict: no line breaks, no missing padding. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

std::string base64_encode(std::string_view bytes);
// nullopt: `text` is not what base64_encode() would have written.
std::optional<std::string> base64_decode(std::string_view text);
// Well-formed by RFC 3629: shortest forms, no surrogates, <= U+10FFFF.
bool is_utf8(std::string_view bytes);

}  // namespace muster
