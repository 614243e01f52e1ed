// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/rank_protocol.h"

#include <signal.h>

#include "base/forwarded_signals.h"
#include "base/text.h"

namespace muster {

std::string encode_rank_message(RankMessage tag, std::string_view body) {
  std::string packet(1, static_cast<char>(tag));
  packet.append(body);
  return packet;
}

std::optional<RankMessageView> parse_rank_message(std::string_view packet) {
  if (packet.empty()) return std::nullopt;
  const auto tag = static_cast<RankMessage>(packet.front());
  switch (tag) {
    case RankMessage::kAttach:
    case RankMessage::kEnvironment:
    case RankMessage::kStarted:
    case RankMessage::kExited:
      return RankMessageView{tag, packet.substr(1)};
  }
  return std::nullopt;
}

std::string encode_environment(const Environment& env) {
  std::string out;
  for (const auto& [name, value] : env) {
    out += name + "=" + value;
    out.push_back('\0');
  }
  return out;
}

Environment parse_environment(std::string_view body) {
  Environment env;
  for (const auto entry : split(body, '\0')) {
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    env.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return env;
}

bool rank_wrapper_forwards(int number) {
  switch (number) {
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
    case SIGTSTP:
      return true;
    default:
      return is_forwarded(number);
  }
}

std::string agent_socket_name(int pid) {
  return "agent-" + std::to_string(pid) + ".sock";
}

}  // namespace muster
