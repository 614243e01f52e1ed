// SPDX-License-Identifier: Apache-2.0
// Reads an authorized_keys file (sshd(8), "AUTHORIZED_KEYS FILE FORMAT"). Lines
// count whose options only forbid what this server never does (no-pty,
// restrict, …); it skips and names a line with any other option, since half of
// it would grant more than its author meant. Pure over the text; one bad line
// never hides the good ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sshd-lite/ssh_key.h"

namespace muster {

constexpr size_t kMaxAuthorizedKeysText = 256 * 1024;
constexpr size_t kMaxAuthorizedKeys = 256;

struct AuthorizedKeys {
  std::vector<SshKey> keys;
  std::vector<std::string> ignored;  // a sentence per skipped line
};

// `source` is the file's name for the sentences ("FILE:LINE: …").
AuthorizedKeys parse_authorized_keys(std::string_view text,
                                     const std::string& source);

}  // namespace muster
