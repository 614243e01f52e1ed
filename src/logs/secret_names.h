// SPDX-License-Identifier: Apache-2.0
// Whether a name stands for a secret. Uses the parts of the name, which '_',
// '-', '.' and capitals separate: DB_PASS, db-pass and dbPass are one name,
// COMPASS and BYPASS are others. The tables are in the .cc. Pure.
#pragma once

#include <string_view>

namespace muster {

enum class SecretKind {
  kNone,
  kKey,       // a word in harmless names as well: KEY, AUTH
  kToken,     // made by machines: letters and digits mixed
  kPassword,  // chosen by people: may be any word
};

SecretKind secret_kind(std::string_view name);

// "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "db-password", "COMET_KEY"; not
// "MAX_TOKENS", "SORT_KEY", "KEYBOARD".
bool is_secret_name(std::string_view name);

// For a variable or a flag: its value must look like one, too.
bool is_secret(std::string_view name, std::string_view value);

// A value that is not a secret under any name: a switch, a mechanism, a path,
// one character again and again.
bool is_plain_value(std::string_view value);

}  // namespace muster
