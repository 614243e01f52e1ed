// SPDX-License-Identifier: Apache-2.0
// What the C library and the shell say in another language than English, as
// they do where a user's LANG is theirs: "Permiso denegado" is "Permission
// denied" to every rule. The table is rules/foreign.tsv.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// The line with such words in English. Empty: it holds none. Any thread.
std::string in_english(std::string_view line);

}  // namespace muster
