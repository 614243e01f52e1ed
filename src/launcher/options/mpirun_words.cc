// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/mpirun_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "job/mpirun_options.h"
#include "launcher/options/option_words.h"

namespace muster {

namespace {

constexpr std::string_view kLaunch = "muster launch ";

struct Own {
  std::string variable;
  std::string help;
  std::string type;  // "TEXT:{stop,warn}"
  bool flag = false;
};

// By name, without dashes; only what has a variable.
const std::map<std::string, Own, std::less<>>& own_options() {
  static const auto kOptions = [] {
    std::map<std::string, Own, std::less<>> out;
    CLI::App app;
    LaunchOptions options;
    OptionWords words;
    declare_options(app, options, words);
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_envname().empty()) continue;
      for (const std::string& name : option->get_lnames()) {
        out[name] = {option->get_envname(), option->get_description(),
                     option->get_type_name(),
                     option->get_items_expected_max() == 0};
      }
    }
    return out;
  }();
  return kOptions;
}

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
}

// "600s", "DIR", or one of the words that the type or the help lists. In "raise
// --silence if …" no value follows.
bool is_value(std::string_view word, const Own& option) {
  if (word.empty()) return false;
  const auto any = [word](auto test) {
    return std::any_of(word.begin(), word.end(), [test](char c) {
      return test(static_cast<unsigned char>(c)) != 0;
    });
  };
  const bool capitals = any([](int c) { return std::isupper(c); }) &&
                        !any([](int c) { return std::islower(c); });
  if (capitals || any([](int c) { return std::isdigit(c); })) return true;
  const std::string listed(word);
  return option.type.find("{" + listed) != std::string::npos ||
         option.type.find("," + listed) != std::string::npos ||
         option.help.find(": " + listed) != std::string::npos ||
         option.help.find(", " + listed) != std::string::npos;
}

// The option that begins at `at`, and how long it is with its value.
struct Found {
  std::string text;
  size_t length = 0;
};

std::optional<Found> translated(std::string_view advice, size_t at) {
  size_t end = at + 2;
  while (end < advice.size() && is_name_char(advice[end])) ++end;
  const std::string_view name = advice.substr(at + 2, end - at - 2);
  const auto option = own_options().find(name);
  if (option == own_options().end() ||
      find_option(name, kOpenMpiLauncher) != nullptr) {
    return std::nullopt;
  }
  const std::string& variable = option->second.variable;
  if (option->second.flag) return Found{variable + "=1", end - at};
  if (end + 1 >= advice.size() || (advice[end] != ' ' && advice[end] != '=')) {
    return Found{variable, end - at};
  }
  size_t last = advice.find_first_of(" ,;:)`\"'", end + 1);
  if (last == std::string_view::npos) last = advice.size();
  if (last == advice.size() && advice.ends_with('.')) --last;
  const std::string_view word = advice.substr(end + 1, last - end - 1);
  if (!is_value(word, option->second)) return Found{variable, end - at};
  return Found{variable + "=" + std::string(word), last - at};
}

}  // namespace

std::string for_mpirun(std::string_view advice) {
  std::string out;
  bool changed = false;
  bool quoted = false;  // a command, which is for `muster` as it is
  for (size_t i = 0; i < advice.size();) {
    const bool starts = advice.substr(i).starts_with("--") &&
                        (i == 0 || !is_name_char(advice[i - 1]));
    if (starts && !quoted) {
      if (const auto found = translated(advice, i)) {
        if (out.ends_with(kLaunch)) out.resize(out.size() - kLaunch.size());
        out += found->text;
        i += found->length;
        changed = true;
        continue;
      }
    }
    if (advice[i] == '`') quoted = !quoted;
    out += advice[i++];
  }
  if (!changed) return out;
  const bool dot = out.ends_with('.');
  if (dot) out.pop_back();
  out += " (in the environment of mpirun)";
  if (dot) out += '.';
  return out;
}

void say_for_mpirun(Verdict& verdict) {
  for (std::string& remedy : verdict.remedies) remedy = for_mpirun(remedy);
}

}  // namespace muster
