// SPDX-License-Identifier: Apache-2.0
// The keywords of sshd_config(5), of OpenSSH 9.9 and of the distributions, and
// those that may deny access that this server would grant. The worker obeys
// such a line, or does not start: it never fails open. Refuses: keywords that
// it does not know, as sshd does. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class KeywordKind {
  kHonoured,   // Port, ListenAddress, HostKey, AuthorizedKeysFile, …
  kHarmless,   // of features that this server lacks or bounds itself
  kRestricts,  // may deny access: see unmet_limits()
  kUnknown,
};

// `keyword` in small letters.
KeywordKind keyword_kind(std::string_view keyword);

struct AccessLimit {
  std::string where;    // "FILE:LINE"
  std::string keyword;  // as written
  std::vector<std::string> values;
  bool in_match = false;  // in a block that may not apply to the job
};

// The server's account: the only one that a login can reach.
struct SshdAccount {
  std::string user;  // empty: its user id has no name
  std::vector<std::string> groups;
  bool is_root = false;
};

// A sentence for each line that this server does not obey. If a keyword is in
// `limits` more than once, the first counts, as in sshd, except for the four
// lists of users and groups, and for lines in Match blocks.
std::vector<std::string> unmet_limits(const std::vector<AccessLimit>& limits,
                                      const SshdAccount& account);

}  // namespace muster
