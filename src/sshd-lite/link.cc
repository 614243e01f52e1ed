// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/link.h"

#include <signal.h>

#include <vector>

#include "base/text.h"
#include "sshd-lite/exec_policy.h"

namespace muster {

namespace {

constexpr size_t kMaxEnvironment = 32;

void append(std::string& out, std::string_view field) {
  out += field.substr(0, field.find('\0'));
  out += '\0';
}

// The NUL-ended strings after the letter; nullopt if the last is cut.
std::optional<std::vector<std::string>> fields_of(std::string_view bytes) {
  std::vector<std::string> out;
  bytes.remove_prefix(1);
  while (!bytes.empty()) {
    const size_t end = bytes.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    out.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

std::string encode(const LinkRequest& request) {
  if (std::holds_alternative<KeysAgreed>(request)) return "K";
  std::string out;
  if (const auto* who = std::get_if<Authenticated>(&request)) {
    out = "A";
    append(out, who->user);
    append(out, who->fingerprint);
  } else if (const auto* denied = std::get_if<Denied>(&request)) {
    out = "D";
    append(out, denied->user);
    append(out, denied->fingerprint);
  } else if (const auto* exec = std::get_if<ExecRequest>(&request)) {
    out = "E";
    append(out, exec->command);
    for (const auto& [name, value] : exec->env) {
      append(out, name);
      append(out, value);
    }
  } else if (const auto* broken = std::get_if<Broken>(&request)) {
    out = "B";
    append(out, broken->reason);
  } else if (const auto* unserved = std::get_if<Unserved>(&request)) {
    out = "N";
    append(out, unserved->what);
  } else {
    out = "S";
    append(out, std::to_string(std::get<SignalProgram>(request).number));
  }
  return out;
}

std::string encode(const LinkReply& reply) {
  if (std::holds_alternative<ProgramStarted>(reply)) return "P";
  std::string out;
  if (const auto* refused = std::get_if<ProgramRefused>(&reply)) {
    out = "R";
    append(out, refused->reason);
  } else {
    out = "X";
    append(out, std::to_string(std::get<ProgramEnded>(reply).wait_status));
  }
  return out;
}

std::optional<LinkRequest> decode_request(std::string_view bytes) {
  if (bytes == "K") return KeysAgreed{};
  if (bytes.empty() || bytes.size() > kMaxLinkMessage) return std::nullopt;
  const auto fields = fields_of(bytes);
  if (!fields) return std::nullopt;
  if (bytes[0] == 'A' && fields->size() == 2) {
    return Authenticated{(*fields)[0], (*fields)[1]};
  }
  if (bytes[0] == 'D' && fields->size() == 2) {
    return Denied{(*fields)[0], (*fields)[1]};
  }
  if (bytes[0] == 'E' && fields->size() % 2 == 1 &&
      fields->size() <= 1 + 2 * kMaxEnvironment) {
    ExecRequest out{(*fields)[0], {}};
    for (size_t i = 1; i < fields->size(); i += 2) {
      if (!env_allowed((*fields)[i], (*fields)[i + 1])) return std::nullopt;
      out.env.emplace_back((*fields)[i], (*fields)[i + 1]);
    }
    return out;
  }
  if (bytes[0] == 'B' && fields->size() == 1) return Broken{(*fields)[0]};
  if (bytes[0] == 'N' && fields->size() == 1) return Unserved{(*fields)[0]};
  if (bytes[0] == 'S' && fields->size() == 1) {
    const auto number = parse_integer((*fields)[0]);
    if (!number || *number <= 0 || *number >= NSIG) return std::nullopt;
    return SignalProgram{static_cast<int>(*number)};
  }
  return std::nullopt;
}

std::optional<LinkReply> decode_reply(std::string_view bytes) {
  if (bytes == "P") return ProgramStarted{};
  if (bytes.empty() || bytes.size() > kMaxLinkMessage) return std::nullopt;
  const auto fields = fields_of(bytes);
  if (!fields || fields->size() != 1) return std::nullopt;
  if (bytes[0] == 'R') return ProgramRefused{(*fields)[0]};
  const auto status = parse_integer((*fields)[0]);
  if (bytes[0] != 'X' || !status) return std::nullopt;
  return ProgramEnded{static_cast<int>(*status)};
}

}  // namespace muster
