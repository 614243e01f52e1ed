// SPDX-License-Identifier: Apache-2.0
// Understands the command lines and files that people already have for
// OpenSSH's sshd: `sshd -De -f FILE`, clustered flags, -o Key=Value.
// Honours Port, ListenAddress, HostKey and AuthorizedKeysFile; what else a file
// says is noted and ignored, since most of it speaks of things that this server
// does not have. No other file is read: an Include is noted apart, for what it
// names may hold some of the four. Pure over its inputs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct SshdConfig {
  std::optional<int> port;  // the first one; sshd would listen on all
  std::string address;      // "": every interface
  std::vector<std::string> host_keys;
  std::vector<std::string> authorized_keys;  // as written; may be relative
  std::vector<std::string> ignored;          // "FILE:LINE: Keyword"
  std::vector<std::string> includes;         // "FILE:LINE: Include WORDS"
  std::vector<std::string> problems;         // sentences worth a warning
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

// sshd_config(5); everything from the first Match line on is ignored.
SshdConfig parse_sshd_config(std::string_view text, const std::string& source);

// What counts in the end: `first` where it says something, else `second`.
SshdConfig merge(SshdConfig first, const SshdConfig& second);

// AuthorizedKeysFile as sshd resolves it: %h and %% replaced, relative to
// `home`. "" for "none" and for names with tokens unknown here (%u, …).
std::string resolve_key_file(std::string_view name, const std::string& home);

}  // namespace muster
