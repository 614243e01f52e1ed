// SPDX-License-Identifier: Apache-2.0
// The messages between the rank wrapper and its agent over a Unix
// SOCK_SEQPACKET socket in the launch's run directory. One packet is one
// message: a tag byte and a body.
//
// From the wrapper:
//   kAttach       Attached (JSON), with the read ends of stdout and stderr
//   kStarted      Attached (JSON) with the program's pid
//   kExited       Exited (JSON); then the agent closes, and the wrapper leaves
// From the agent:
//   kEnvironment  NAME=VALUE, each ended by NUL
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/spawn.h"

namespace muster {

enum class RankMessage : char {
  kAttach = 'A',
  kEnvironment = 'E',
  kStarted = 'S',
  kExited = 'X',
};

inline constexpr size_t kRankMessageLimit = 128 * 1024;

std::string encode_rank_message(RankMessage tag, std::string_view body);
struct RankMessageView {
  RankMessage tag{};
  std::string_view body;
};
std::optional<RankMessageView> parse_rank_message(std::string_view packet);

std::string encode_environment(const Environment& env);
Environment parse_environment(std::string_view body);

// Whether the wrapper passes this signal on to its program. (It cannot catch
// all.)
bool rank_wrapper_forwards(int number);

// The socket's name in the run directory of the agent with `pid`.
std::string agent_socket_name(int pid);

}  // namespace muster
