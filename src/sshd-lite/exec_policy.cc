// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/exec_policy.h"

#include <algorithm>
#include <array>
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

// A line's words as in a shell, if it holds nothing for a shell to do: plain
// words, and text in quotes without $ ` \ and !.
std::optional<std::vector<std::string>> shell_words(std::string_view line) {
  std::vector<std::string> out;
  bool in_word = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word) out.emplace_back();
    in_word = true;
    if (c != '\'' && c != '"') {
      if (!is_plain(line.substr(i, 1)) &&
          std::string_view("[]%").find(c) == std::string_view::npos) {
        return std::nullopt;
      }
      out.back() += c;
      continue;
    }
    const size_t end = line.find(c, i + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const auto text = line.substr(i + 1, end - i - 1);
    if (printable(text, text.size()) != text ||
        text.find_first_of("$`\\!") != text.npos) {
      return std::nullopt;
    }
    out.back() += text;
    i = end;
  }
  return out;
}

using Words = std::vector<std::string>;

// "-f", "-fd", …: letters of `letters` alone.
bool is_flags(const std::string& word, std::string_view letters) {
  return word.size() > 1 && word[0] == '-' &&
         word.find_first_not_of(letters, 1) == std::string::npos;
}

bool all_flags(const Words& words, std::string_view letters) {
  return std::all_of(
      words.begin() + 1, words.end(),
      [letters](const std::string& word) { return is_flags(word, letters); });
}

// `test -f PATH`, and the same in brackets.
bool is_file_test(const Words& words) {
  return words.size() == 3 && words[1].size() == 2 &&
         is_flags(words[1], "bdefhLprsSwx");
}

bool is_number(const std::string& word) {
  return !word.empty() && word.size() <= 3 &&
         word.find_first_not_of("0123456789") == std::string::npos;
}

// A query that changes nothing, as argv; empty: none.
Words question_words(Words words) {
  std::string name = words[0];
  for (const std::string_view directory : {"/bin/", "/usr/bin/"}) {
    if (name.starts_with(directory)) {
      name = name.substr(directory.size());
      break;
    }
  }
  const bool is_path = name != words[0];
  if (name == "[" && words.back() == "]") {
    words.pop_back();
    words[0] = name = "test";
  }
  if (name == "true" || (name == ":" && !is_path)) return {"true"};
  if (name == "exit" && !is_path && words.size() <= 2) {
    if (words.size() == 1) return {"true"};
    if (is_number(words[1])) return {"/bin/sh", "-c", "exit " + words[1]};
    return {};
  }
  if (name == "test") return is_file_test(words) ? words : Words{};
  if (name == "echo") return words;
  if (name == "date") {
    return words.size() == 1 || (words.size() == 2 &&
                                 (words[1] == "-u" || words[1][0] == '+'))
               ? words
               : Words{};
  }
  struct Question {
    std::string_view name;
    std::string_view flags;
  };
  constexpr std::array<Question, 6> kQuestions = {{{"hostname", "dfiIs"},
                                                   {"id", "Ggnru"},
                                                   {"nproc", ""},
                                                   {"uname", "aimnoprsv"},
                                                   {"uptime", "ps"},
                                                   {"whoami", ""}}};
  for (const Question& question : kQuestions) {
    if (name == question.name && all_flags(words, question.flags)) return words;
  }
  return {};
}

// A query that manifests and launchers send to a worker over ssh before they
// call mpirun: whether it answers, its name, whether a file exists.
std::optional<AllowedCommand> launcher_question(std::string_view command) {
  if (command.size() > kMaxAgentCommand) return std::nullopt;
  const auto words = shell_words(command);
  if (!words || words->empty() || (*words)[0].empty()) return std::nullopt;
  Words argv = question_words(*words);
  if (argv.empty()) return std::nullopt;
  return AllowedCommand{std::move(argv), CommandKind::kProbe, {}};
}

tl::unexpected<Error> refuse_command(const ExecPolicy& policy,
                                     std::string_view command) {
  const std::string shown = ", not \"" + printable(command, 80) + "\"";
  if (parse_mpi_daemon_line(command) && !policy.allow_mpi_daemons) {
    return refuse("this worker refuses MPI daemons" + shown,
                  "use muster's mpirun in the launcher, or start the worker "
                  "without --refuse-mpi-daemons");
  }
  return refuse(
      "this worker starts only muster-agent, MPI daemons and a few questions" +
          shown,
      "start the worker with --allow-any-command to let holders of the job "
      "key run anything");
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
