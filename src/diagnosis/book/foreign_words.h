// SPDX-License-Identifier: Apache-2.0
// Messages of the C library and the shell in another language than English,
// from users with another LANG: "Permiso denegado" is "Permission denied" to
// every rule. The table is rules/foreign.tsv.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// The line with such words in English. Empty: it holds none. Any thread.
std::string in_english(std::string_view line);

}  // namespace muster
