// SPDX-License-Identifier: Apache-2.0
// Reading option lines, and the page for a terminal.
#include "cli/help_page.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kColumns = 80;
constexpr size_t kOptionColumn = 26;  // where an option's text begins
constexpr size_t kGroupColumn = 14;   // … and the names of a group's options

size_t indentation(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Cuts "(Env:NAME)" or "(env NAME)" out of `text`.
std::string take_environment(std::string& text) {
  for (const std::string_view mark : {"(Env:", "(env "}) {
    const size_t begin = text.find(mark);
    if (begin == std::string::npos) continue;
    const size_t end = text.find(')', begin);
    if (end == std::string::npos) continue;
    const size_t name = begin + mark.size();
    std::string found = text.substr(name, end - name);
    text.erase(begin, end - begin + 1);
    return found;
  }
  return "";
}

// "TEXT:{a,b}", "INT:INT in [1 - 9]", "FILE", "TEXT ..." -> a short word.
void set_value(OptionHelp& option, std::string_view spec) {
  const size_t brace = spec.find('{');
  const size_t end = spec.find('}');
  if (brace != std::string_view::npos && end != std::string_view::npos) {
    for (const auto word :
         split(spec.substr(brace + 1, end - brace - 1), ',')) {
      option.choices.emplace_back(trim(word));
    }
    option.value = join(option.choices, "|");
    return;
  }
  // "[HOST:]PORT" is a word as it stands, "INT:INT in [1 - 9]" a type.
  const bool typed = spec.starts_with("INT:") || spec.starts_with("UINT:") ||
                     spec.starts_with("TEXT:") || spec.starts_with("FLOAT:");
  std::string_view word = trim(typed ? spec.substr(0, spec.find(':')) : spec);
  const bool many = word.ends_with("...");
  if (many) word = trim(word.substr(0, word.size() - 3));
  constexpr std::string_view kRequired = " REQUIRED";
  if (word.ends_with(kRequired)) word.remove_suffix(kRequired.size());
  if (word == "INT" || word == "UINT") word = "N";
  if (word == "TEXT") word = "VALUE";
  option.value = std::string(word) + (many ? "..." : "");
  const std::vector<std::string_view> parts = split(word, '|');
  if (parts.size() > 1) option.choices.assign(parts.begin(), parts.end());
}

// "-n,--np INT" or "-D, -e FILE": the flags, then the value.
OptionHelp parse_head(std::string head) {
  OptionHelp option;
  option.environment = take_environment(head);
  std::string_view rest = trim(head);
  while (rest.starts_with('-')) {
    const size_t end = std::min(rest.find_first_of(", "), rest.size());
    std::string_view flag = rest.substr(0, end);
    option.flags.emplace_back(flag.substr(0, flag.find('{')));
    rest.remove_prefix(end);
    if (!rest.starts_with(',')) break;
    rest = trim(rest.substr(1));
  }
  set_value(option, trim(rest));
  return option;
}

std::string flags_and_value(const OptionHelp& option) {
  return join(option.flags, ", ") +
         (option.value.empty() ? "" : " " + option.value);
}

// Appends words from column `indent` on, the first line continuing `out`.
void append_wrapped(std::string& out, std::string_view text, size_t indent) {
  size_t column = indent;
  bool first = true;
  for (const std::string_view word : split_words(text)) {
    if (!first && column + 1 + word.size() > kColumns) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  out += '\n';
}

void append_row(std::string& out, const std::string& left,
                std::string_view right, size_t column) {
  out += "  " + left;
  if (2 + left.size() + 2 > column) {
    out += '\n' + std::string(column, ' ');
  } else {
    out += std::string(column - 2 - left.size(), ' ');
  }
  append_wrapped(out, right, column);
}

void append_option(std::string& out, const OptionHelp& option) {
  std::string text = option.text;
  if (!option.environment.empty()) text += " [" + option.environment + "]";
  append_row(out, flags_and_value(option), text, kOptionColumn);
}

// Groups in the order of their first options.
std::vector<std::string> groups_of(const std::vector<OptionHelp>& options) {
  std::vector<std::string> groups;
  for (const OptionHelp& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  return groups;
}

// "  Placement   --map-by, --bind-to": the long names of a group.
void append_names(std::string& out, const HelpPage& page,
                  const std::string& group) {
  std::vector<std::string> names;
  for (const OptionHelp& option : page.options) {
    if (option.group != group) continue;
    const auto name =
        std::find_if(option.flags.begin(), option.flags.end(),
                     [](const auto& flag) { return flag.starts_with("--"); });
    names.push_back(name != option.flags.end() ? *name : option.flags[0]);
  }
  append_row(out, group, join(names, ", "), kGroupColumn);
}

void append_options(std::string& out, const HelpPage& page, bool all) {
  const auto groups = groups_of(page.options);
  const bool brief = !all && std::find(groups.begin(), groups.end(),
                                       kMostUsed) != groups.end();
  bool named = false;  // the heading of the names is there
  for (const std::string& group : groups) {
    if (brief && group != kMostUsed) {
      if (!named)
        out += "\nMore (`" + page.name + " --help-all` explains them):\n";
      named = true;
      append_names(out, page, group);
      continue;
    }
    out += "\n" + (group.empty() ? "Options" : group) + ":\n";
    for (const OptionHelp& option : page.options) {
      if (option.group == group) append_option(out, option);
    }
  }
}

}  // namespace

std::vector<OptionHelp> parse_options(std::string_view help_text) {
  std::vector<OptionHelp> options;
  bool open = false;  // lines that follow belong to the last option
  std::string group;
  for (const std::string_view line : split(help_text, '\n')) {
    const size_t indent = indentation(line);
    const std::string_view content = trim(line);
    if (indent >= 2 && indent < 8 && content.starts_with('-')) {
      const size_t gap = content.find("  ");
      options.push_back(parse_head(std::string(content.substr(0, gap))));
      options.back().group = group;
      if (gap != std::string_view::npos) {
        options.back().text = trim(content.substr(gap));
      }
      open = true;
    } else if (open && indent >= 8 && !content.empty()) {
      std::string& text = options.back().text;
      text += (text.empty() ? "" : " ") + std::string(content);
    } else {
      open = false;
      if (indent == 0 && content.ends_with(':')) {
        group = content.substr(0, content.size() - 1);
      }
    }
  }
  return options;
}

std::string help_text(const HelpPage& page, bool all) {
  std::string out = "usage: " + page.usage + "\n\n";
  std::string summary = page.summary + ".";
  summary[0] = static_cast<char>(summary[0] & ~0x20);  // words are ASCII
  append_wrapped(out, summary, 0);
  append_options(out, page, all);
  out += "\nExamples:\n";
  for (const auto& [line, why] : page.examples) {
    out += "  " + line + "\n      " + why + "\n";
  }
  out += "\nExit codes:\n";
  for (const auto& [code, meaning] : page.exit_codes) {
    append_row(out, code, meaning, 14);
  }
  return out;
}

}  // namespace muster
