// SPDX-License-Identifier: Apache-2.0
// Understands command lines and files for OpenSSH's sshd: `sshd -De -f FILE`,
// clustered flags, -o Key=Value. Honours Port, ListenAddress, AddressFamily,
// HostKey, AuthorizedKeysFile, StrictModes and Include; keeps lines that may
// deny access for unmet_limits(); notes and ignores all other lines, which
// concern features that this server lacks. Pure over its inputs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sshd-lite/sshd_access.h"

namespace muster {

struct SshdConfig {
  std::optional<int> port;  // the first one; sshd would listen on all
  std::string address;      // "": every interface
  std::vector<std::string> host_keys;
  std::vector<std::string> authorized_keys;  // as written; may be relative
  std::optional<bool> strict_modes;          // yes: key files must be safe
  std::vector<AccessLimit> limits;    // with the keywords that are unknown
  std::vector<std::string> ignored;   // "FILE:LINE: Keyword"
  std::vector<std::string> problems;  // sentences worth a warning
};

struct SshdArgs {
  std::string config_file;  // -f
  SshdConfig given;         // -p, -h, -o: they win over the file
  bool test_only = false;   // -t
  bool version = false;     // -V
  bool debug = false;       // -d
};

// `args` without argv[0]. Error code "usage".
Result<SshdArgs> parse_sshd_args(const std::vector<std::string>& args);

struct ConfigFile {
  std::string path;
  Result<std::string> text;
};
// The files that a pattern of Include names, in order.
using ReadIncluded =
    std::function<std::vector<ConfigFile>(const std::string& pattern)>;

// sshd_config(5). Keeps only limits of Match blocks, whether they apply or not.
// Error code "usage": an included file is unreadable, or more than 16 include
// each other.
Result<SshdConfig> parse_sshd_config(std::string_view text,
                                     const std::string& source,
                                     const ReadIncluded& included);

// The effective configuration: `first` where it has a value, else `second`.
SshdConfig merge(SshdConfig first, const SshdConfig& second);

// The home, name and number for %h, %u and %U in a file name.
struct KeyFileOwner {
  std::string home;
  std::string user;  // empty: unknown
  uid_t uid = 0;
};

// AuthorizedKeysFile as sshd resolves it: tokens replaced, relative to the home
// directory. "" for "none" and for names with unknown tokens.
std::string resolve_key_file(std::string_view name, const KeyFileOwner& owner);

}  // namespace muster
