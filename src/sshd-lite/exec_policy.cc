// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/exec_policy.h"

#include <algorithm>
#include <optional>

#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxAgentCommand = 4096;
constexpr size_t kMaxEnvValue = 256;

tl::unexpected<Error> refuse(std::string why, std::string hint = {}) {
  return fail(Error{
      "exec_refused", "command refused", std::move(why), {}, std::move(hint)});
}

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

bool is_plain(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return is_alphanumeric(c) ||
           std::string_view("._/:=,@+-").find(c) != std::string_view::npos;
  });
}

// "muster-agent" or "/any/where/muster-agent"; never a relative path.
bool names_agent(std::string_view word) {
  if (word == "muster-agent") return true;
  return word.starts_with('/') && word.ends_with("/muster-agent");
}

// "--word" or "--word=value".
bool is_flag(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && is_alphanumeric(word[2]);
}

// `muster-agent agent [--flag…]`, `muster-agent doctor [--flag…]` or
// `muster-agent version`.
std::optional<AllowedCommand> agent_command(const ExecPolicy& policy,
                                            std::string_view command) {
  if (command.size() > kMaxAgentCommand) return std::nullopt;
  const auto words = split_words(command);
  if (words.size() < 2 || !names_agent(words[0]) ||
      !std::all_of(words.begin(), words.end(), is_plain)) {
    return std::nullopt;
  }
  AllowedCommand out;
  const bool flags = std::all_of(words.begin() + 2, words.end(), is_flag);
  if (words[1] == "agent" && flags) {
    out.kind = CommandKind::kAgent;
  } else if (words[1] == "doctor" && flags) {
    out.kind = CommandKind::kProbe;
  } else if (words[1] == "version" && words.size() == 2) {
    out.kind = CommandKind::kProbe;
  } else {
    return std::nullopt;
  }
  out.argv.push_back(policy.agent);
  out.argv.insert(out.argv.end(), words.begin() + 1, words.end());
  return out;
}

// What DeepSpeed and horovodrun ask a worker over ssh before they call mpirun:
// whether it answers, and its addresses. No word of it is the asker's own.
std::optional<AllowedCommand> launcher_question(std::string_view command) {
  auto words = split_words(command);
  const auto is = [&words](std::initializer_list<std::string_view> line) {
    return std::equal(words.begin(), words.end(), line.begin(), line.end());
  };
  if (!is({"true"}) && !is({"hostname"}) && !is({"hostname", "-I"})) {
    return std::nullopt;
  }
  return AllowedCommand{{words.begin(), words.end()}, CommandKind::kProbe, {}};
}

tl::unexpected<Error> refuse_command(const ExecPolicy& policy,
                                     std::string_view command) {
  const std::string shown = ", not \"" + printable(command, 80) + "\"";
  if (policy.allow_mpi_daemons) {
    return refuse(
        "this worker starts only muster-agent and MPI daemons" + shown,
        "start the worker with --allow-any-command to let holders "
        "of the job key run anything");
  }
  if (parse_mpi_daemon_line(command)) {
    return refuse("this worker starts only muster-agent" + shown,
                  "use muster's mpirun in the launcher, or start the worker "
                  "with --allow-mpi-daemons");
  }
  return refuse("this worker starts only muster-agent" + shown,
                "start the worker with --allow-any-command to let holders of "
                "the job key run anything");
}

}  // namespace

std::string_view command_kind_name(CommandKind kind) {
  switch (kind) {
    case CommandKind::kAgent:
      return "agent";
    case CommandKind::kProbe:
      return "probe";
    case CommandKind::kDaemon:
      return "daemon";
    case CommandKind::kAny:
      break;
  }
  return "any";
}

Result<AllowedCommand> decide_exec(const ExecPolicy& policy,
                                   std::string_view command) {
  if (command.empty() || command.size() > kMaxCommand) {
    return refuse(command.empty() ? "it is empty" : "longer than 128 KiB");
  }
  if (command.find('\0') != std::string_view::npos) {
    return refuse("it holds a NUL byte");
  }
  if (auto agent = agent_command(policy, command)) return *agent;
  if (policy.allow_any) {
    return AllowedCommand{
        {"/bin/sh", "-c", std::string(command)}, CommandKind::kAny, {}};
  }
  if (auto question = launcher_question(command)) return *question;
  if (policy.allow_mpi_daemons) {
    if (auto daemon = parse_mpi_daemon_line(command)) {
      return AllowedCommand{std::move(daemon->argv), CommandKind::kDaemon,
                            std::move(daemon->changes)};
    }
  }
  return refuse_command(policy, command);
}

bool env_allowed(std::string_view name, std::string_view value) {
  if (value.size() > kMaxEnvValue) return false;
  const bool known = name == "LANG" || name == "TERM" || name == "TZ" ||
                     (name.starts_with("LC_") && name.size() < 32);
  const bool plain_name = std::all_of(name.begin(), name.end(), [](char c) {
    return is_alphanumeric(c) || c == '_';
  });
  return known && plain_name && is_plain(value);
}

}  // namespace muster
