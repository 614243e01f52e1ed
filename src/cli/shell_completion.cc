// SPDX-License-Identifier: Apache-2.0
// HelpPage -> completion for bash and zsh.
#include "base/text.h"
#include "cli/help_page.h"

namespace muster {

namespace {

std::string command_of(const HelpPage& page) {
  return page.name.substr(page.name.rfind(' ') + 1);
}

std::string long_flags(const HelpPage& page) {
  std::string out;
  for (const OptionHelp& option : page.options) {
    for (const std::string& flag : option.flags) out += flag + ' ';
  }
  return out + "--help";
}

bool takes_path(const OptionHelp& option) {
  return option.value.starts_with("FILE") || option.value.starts_with("DIR");
}

// case arms that complete the value behind an option.
std::string bash_values(const HelpPage& page) {
  std::string out;
  for (const OptionHelp& option : page.options) {
    if (option.value.empty()) continue;
    out += "        " + join(option.flags, "|") + ") ";
    if (!option.choices.empty()) {
      out += "COMPREPLY=($(compgen -W '" + join(option.choices, " ") +
             "' -- \"$word\"))";
    } else {
      out += "COMPREPLY=($(compgen -f -- \"$word\"))";
    }
    out += "; return ;;\n";
  }
  return out;
}

// In zsh's single quotes and in its "[description]".
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_argument(const OptionHelp& option, const std::string& flag) {
  std::string out = "'*" + flag + "[" + zsh_text(option.text) + "]";
  if (!option.value.empty()) {
    out += ":" + zsh_text(option.value) + ":";
    if (!option.choices.empty()) {
      out += "(" + join(option.choices, " ") + ")";
    } else if (takes_path(option)) {
      out += "_files";
    }
  }
  return out + "'";
}

}  // namespace

std::string bash_completion(const std::vector<HelpPage>& pages) {
  std::string names;
  std::string arms;
  for (const HelpPage& page : pages) {
    const std::string name = command_of(page);
    names += (names.empty() ? "" : " ") + name;
    arms += "    " + name + ")\n      case $last in\n" + bash_values(page) +
            "      esac\n      words='" + long_flags(page) + "'\n";
    if (!page.words.empty()) {
      arms += "      [ \"$COMP_CWORD\" = 2 ] && words=\"" +
              join(page.words, " ") + " $words\"\n";
    }
    arms += "      ;;\n";
  }
  return "# bash completion for muster; made by: muster completion bash\n"
         "_muster() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} words= i\n"
         "  local last=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         names +
         "' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  for ((i = 2; i < COMP_CWORD; i++)); do  # then a program's words\n"
         "    [ \"${COMP_WORDS[i]}\" = -- ] && {\n"
         "      COMPREPLY=($(compgen -c -f -- \"$word\")); return; }\n"
         "  done\n"
         "  case ${COMP_WORDS[1]} in\n" +
         arms +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  case $word in -*) ;; *) COMPREPLY+=($(compgen -f -- \"$word\")) ;; "
         "esac\n"
         "}\n"
         "complete -o filenames -F _muster muster\n";
}

std::string zsh_completion(const std::vector<HelpPage>& pages) {
  std::string rows;
  std::string arms;
  for (const HelpPage& page : pages) {
    const std::string name = command_of(page);
    rows += "    '" + name + ":" + zsh_text(page.summary) + "'\n";
    arms += "    " + name + ") _arguments -S";
    for (const OptionHelp& option : page.options) {
      for (const std::string& flag : option.flags) {
        arms += " \\\n        " + zsh_argument(option, flag);
      }
    }
    if (!page.words.empty()) {
      arms += " \\\n        '1:command:(" + join(page.words, " ") + ")'";
    }
    arms += " \\\n        '*::program:_files' ;;\n";
  }
  return "#compdef muster\n"
         "# zsh completion for muster; made by: muster completion zsh\n"
         "_muster() {\n"
         "  local -a commands=(\n" +
         rows +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  words=(\"${words[@]:1}\")\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         arms +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _muster ]; then _muster \"$@\"; else "
         "compdef "
         "_muster muster; fi\n";
}

}  // namespace muster
