// SPDX-License-Identifier: Apache-2.0
// Is what a name is given a secret? By the parts of the name, which '_', '-',
// '.' and capitals separate: DB_PASS, db-pass and dbPass are one name, COMPASS
// and BYPASS are others. The tables are in the .cc. Pure.
#pragma once

#include <string_view>

namespace muster {

enum class SecretKind {
  kNone,
  kKey,       // a word that harmless things have as well: KEY, AUTH
  kToken,     // what machines make: letters and digits mixed
  kPassword,  // what people choose: may be any word
};

SecretKind secret_kind(std::string_view name);

// "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "db-password", "COMET_KEY"; not
// "MAX_TOKENS", "SORT_KEY", "KEYBOARD".
bool is_secret_name(std::string_view name);

// Of a variable or a flag: also its value has to be one.
bool is_secret(std::string_view name, std::string_view value);

// A value that is not a secret under any name: a switch, a mechanism, a path,
// one character again and again.
bool is_plain_value(std::string_view value);

}  // namespace muster
