// SPDX-License-Identifier: Apache-2.0
// The shapes of secrets: prefix, alphabet and length of the tokens of common
// providers, and the places where others stand (after a name, in a URL, in a
// header). Hand-written scanners over one line. Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace muster {

struct SecretSpan {
  size_t begin = 0;
  size_t end = 0;
};

// Appends the spans of `line` that look secret, by their begin; they may
// overlap.
void find_secret_shapes(std::string_view line, std::vector<SecretSpan>& spans);

// The length of a webhook's address that is itself the secret, if one begins at
// `at` ("hooks.slack.com/"); else 0.
size_t secret_path(std::string_view line, size_t at);

// The name that ends before `end`, where a '=' or ':' stands: at most 64
// characters, without the quotes behind it (two: \"name\" in a text of JSON)
// and at most kMostBlanks blanks. Empty: none.
inline constexpr size_t kMostBlanks = 4;
inline constexpr size_t kMostQuotes = 2;
std::string_view name_before(std::string_view line, size_t end);
// A secret's name (is_secret_name), or one whose value is secret if it is a
// login: the "auth" of Docker's and npm's settings, base64 of USER:PASSWORD.
bool may_name_secret(std::string_view name);

}  // namespace muster
