// SPDX-License-Identifier: Apache-2.0
// Variables as people write them down: lines of scripts and manifests, and the
// whole line of a launcher, on which each stands behind an option of its own:
// -x NAME=VALUE, --mca NAME VALUE, -genv NAME VALUE. Pure.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "fabric/facts/fact_word.h"
#include "fabric/facts/facts_words.h"

namespace muster {

namespace {

using Json = nlohmann::json;

bool is_variable(std::string_view word) {
  const size_t equals = word.find('=');
  return equals != 0 && equals != word.npos &&
         word.substr(0, equals).find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
             "abcdefghijklmnopqrstuvwxyz") == word.npos;
}

// "NCCL_DEBUG:", as in a manifest.
bool is_yaml_name(std::string_view word) {
  return word.size() > 1 && word.ends_with(':') &&
         word.find('_') != word.npos &&
         word.substr(0, word.size() - 1)
                 .find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
             word.npos;
}

std::string_view without_quotes(std::string_view text) {
  text = trim(text);
  for (const char quote : {'"', '\''}) {
    if (text.size() >= 2 && text.front() == quote && text.back() == quote) {
      return text.substr(1, text.size() - 2);
    }
  }
  return text;
}

// As a shell makes words of a line: blanks stay between quotation marks.
std::vector<std::string> words_of_command(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 ? c == quote : (c == '"' || c == '\'')) {
      quote = quote != 0 ? 0 : c;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

// Options that a variable follows, and those of a component's parameter.
bool takes_variable(std::string_view word) {
  return one_of(word, {"-x", "-e", "--env", "-env", "--genv", "-genv"});
}

const char* prefix_of(std::string_view word) {
  if (one_of(word, {"--mca", "-mca", "--gmca", "-gmca"})) return "OMPI_MCA_";
  return one_of(word, {"--prtemca", "-prtemca"}) ? "PRTE_MCA_" : nullptr;
}

bool is_command_line(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  const std::string program = words[0].substr(words[0].rfind('/') + 1);
  return one_of(program, {"mpirun", "mpiexec", "mpiexec.hydra", "orterun",
                          "prterun", "docker", "podman"}) ||
         std::any_of(words.begin(), words.end(), [](auto& word) {
           return one_of(word, {"-genv", "--genv"}) ||
                  prefix_of(word) != nullptr;
         });
}

// The program's own words behind it are not taken for variables: their names
// are not in capitals.
bool is_bare_variable(const std::string& word) {
  const auto name = std::string_view(word).substr(0, word.find('='));
  const bool capitals = std::none_of(
      name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_variable(word) && (capitals || name.starts_with("OMPI_MCA_"));
}

void take(const std::string& word, Json& out) {
  const size_t equals = word.find('=');
  out[word.substr(0, equals)] = word.substr(equals + 1);
}

Json variables_of_command(const std::vector<std::string>& words) {
  Json out = Json::object();
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t left = words.size() - i - 1;
    const char* prefix = prefix_of(words[i]);
    if (prefix != nullptr && left >= 2) {
      out[prefix + words[i + 1]] = words[i + 2];
      i += 2;
    } else if (takes_variable(words[i]) && left >= 1) {
      ++i;
      const bool pair = words[i - 1].ends_with("env") && left >= 2 &&
                        words[i].find('=') == std::string::npos;
      if (pair) {
        out[words[i]] = words[i + 1];
        ++i;
      } else if (is_variable(words[i])) {
        take(words[i], out);
      }
    } else if (words[i].starts_with("--env=")) {
      const std::string rest = words[i].substr(6);
      if (is_variable(rest)) take(rest, out);
    } else if (is_bare_variable(words[i])) {
      take(words[i], out);
    }
  }
  return out;
}

// "# export A=1", and what stands behind a value: " # why".
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' &&
               (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(0, i);
    }
  }
  return line;
}

// A program that gets the variables before it, or what ends a command.
bool begins_program(std::string_view word) {
  return word[0] == '-' || word[0] == '/' || word.starts_with("./") ||
         word.ends_with(".py") || word.ends_with(".sh") ||
         one_of(word,
                {"torchrun",   "python", "python3", "srun",    "bash",
                 "sh",         "exec",   "nohup",   "numactl", "deepspeed",
                 "accelerate", "ray",    "vllm",    "sudo",    "time",
                 "nsys",       "&&",     ";",       "|",       "&"});
}

// A script's or a manifest's; a value may have blanks, a mistake that the user
// should hear about.
Json variables_of_line(std::string_view line) {
  Json out = Json::object();
  std::string name;
  std::string value;
  const auto finish = [&] {
    if (!name.empty()) out[name] = without_quotes(value);
  };
  const auto words = split_words(line);
  if (words.size() >= 3 && words[0] == "setenv") {
    const size_t at = line.find(words[1]) + words[1].size();
    out[std::string(words[1])] = without_quotes(line.substr(at));
    return out;
  }
  for (const auto word : words) {
    if (one_of(word, {"export", "-x", "-e", "--env", "env"})) continue;
    if (!name.empty() && begins_program(word)) break;
    if (is_yaml_name(word)) {
      finish();
      name = word.substr(0, word.size() - 1);
      value.clear();
    } else if (is_variable(word)) {
      finish();
      const size_t equals = word.find('=');
      name = word.substr(0, equals);
      value = word.substr(equals + 1);
    } else if (!name.empty()) {
      value += (value.empty() ? "" : " ") + std::string(word);
    }
  }
  finish();
  return out;
}

// Lines that end with a backslash go on.
std::string joined_lines(std::string_view text) {
  std::string out(text);
  for (size_t at = 0; (at = out.find("\\\n", at)) != out.npos;) {
    out.replace(at, 2, " ");
  }
  return out;
}

}  // namespace

Json variables_of_words(std::string_view text) {
  Json out = Json::object();
  const std::string joined = joined_lines(text);
  std::string command;  // and what follows it: long lines are broken anywhere
  for (const auto whole : split(joined, '\n')) {
    const auto line = without_comment(whole);
    if (!command.empty() || is_command_line(words_of_command(line))) {
      command += std::string(line) + " ";
    } else {
      out.update(variables_of_line(line));
    }
  }
  out.update(variables_of_command(words_of_command(command)));
  return out;
}

Json conf_of_lines(std::string_view text) {
  Json out = Json::object();
  for (const auto line : split(text, '\n')) {
    if (trim(line).starts_with('#')) continue;
    Json words = variables_of_words(line);
    const size_t equals = line.find('=');
    if (words.size() > 1 || equals == line.npos) {
      out.update(words);
    } else {
      out[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
  }
  return out;
}

}  // namespace muster
