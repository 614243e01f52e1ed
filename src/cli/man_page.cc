// SPDX-License-Identifier: Apache-2.0
// HelpPage -> man(7).
#include "base/text.h"
#include "cli/help_page.h"

namespace muster {

namespace {

// A leading dot or quote would be a request, a backslash an escape, and a bare
// dash may become a typographic one.
std::string roff(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string page_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c == ' ') c = '-';
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
  return text;
}

void append_options(std::string& out, const HelpPage& page) {
  if (page.options.empty()) return;
  out += ".SH OPTIONS\n";
  std::string group = page.options[0].group;
  for (const OptionHelp& option : page.options) {
    if (option.group != group) {
      group = option.group;
      out += ".SS " + roff(group) + "\n";
    }
    out += ".TP\n\\fB" + roff(join(option.flags, ", ")) + "\\fR";
    if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
    out += '\n' + roff(option.text) + ".\n";
    if (!option.environment.empty()) {
      out += "Also set by \\fB" + roff(option.environment) + "\\fR.\n";
    }
  }
}

std::string title(const std::string& name, const std::string& version) {
  return ".TH " + roff(upper(name)) + " 1 \"\" \"muster " + version +
         "\" \"muster\"\n";
}

}  // namespace

std::string man_page(const HelpPage& page, const std::string& version) {
  const std::string name = page_name(page.name);
  std::string out = title(name, version);
  out += ".SH NAME\n" + roff(name) + " \\- " + roff(page.summary) + "\n";
  out += ".SH SYNOPSIS\n.nf\n" + roff(page.usage) + "\n.fi\n";
  append_options(out, page);
  out += ".SH EXAMPLES\n";
  for (const auto& [line, why] : page.examples) {
    out += ".TP\n\\fB" + roff(line) + "\\fR\n" + roff(why) + ".\n";
  }
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : page.exit_codes) {
    out += ".TP\n\\fB" + roff(code) + "\\fR\n" + roff(meaning) + ".\n";
  }
  return out;
}

std::string man_overview(const std::vector<HelpPage>& pages,
                         const std::string& version) {
  std::string out = title("muster", version);
  out +=
      ".SH NAME\nmuster \\- start MPI jobs in pods, and say why they fail\n"
      ".SH SYNOPSIS\n.nf\nmuster COMMAND [options]\n.fi\n"
      ".SH COMMANDS\n";
  for (const HelpPage& page : pages) {
    out += ".TP\n\\fB" + roff(page_name(page.name)) + "\\fR(1)\n" +
           roff(page.summary) + "\n";
  }
  return out;
}

}  // namespace muster
