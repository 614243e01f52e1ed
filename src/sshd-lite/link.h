// SPDX-License-Identifier: Apache-2.0
// The messages between a connection child and pid 1: one message per packet
// of an AF_UNIX SOCK_SEQPACKET pair, one letter and NUL-ended strings.
//
//   child -> pid 1   K                         the keys are agreed
//                    A user fingerprint        authenticated
//                    D user fingerprint        turned away: no such key
//                    E command {name value}*   start this
//                    S number                  signal the program
//                    B reason                  the peer broke the protocol
//                    N what                    it asked for what is not served
//   pid 1 -> child   P  (+3 descriptors)       started: stdin, stdout, stderr
//                    R reason                  refused
//                    X wait-status             the program has ended
//
// The child may be under a stranger's control: decode_request() takes nothing
// on trust. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/spawn.h"

namespace muster {

// A whole message; more is an attack or a bug.
constexpr size_t kMaxLinkMessage = 160 * 1024;

struct KeysAgreed {};
struct Authenticated {
  std::string user;
  std::string fingerprint;
};
struct Denied {
  std::string user;
  std::string fingerprint;  // of the last key offered
};
struct ExecRequest {
  std::string command;
  Environment env;  // already through env_allowed()
};
struct SignalProgram {
  int number = 0;
};
struct Broken {
  std::string reason;  // the peer said what it may not say now
};
struct Unserved {
  std::string what;  // "a shell"
};
using LinkRequest = std::variant<KeysAgreed, Authenticated, Denied, ExecRequest,
                                 SignalProgram, Broken, Unserved>;

struct ProgramStarted {};
struct ProgramRefused {
  std::string reason;
};
struct ProgramEnded {
  int wait_status = 0;
};
using LinkReply = std::variant<ProgramStarted, ProgramRefused, ProgramEnded>;

std::string encode(const LinkRequest& request);
std::string encode(const LinkReply& reply);
std::optional<LinkRequest> decode_request(std::string_view bytes);
std::optional<LinkReply> decode_reply(std::string_view bytes);

}  // namespace muster
