// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/site_file.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxText = 64 * 1024;
constexpr std::array<std::string_view, 6> kSections = {
    "all", "ib", "roce", "efa", "slingshot", "tcp"};

bool is_variable(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_';
  });
}

tl::unexpected<Error> wrong(const std::string& where, std::string why) {
  return fail({.code = "site_file",
               .what = "cannot read the site file",
               .why = std::move(why),
               .where = where,
               .hint = "lines are NAME=VALUE, # comment or [ib] [roce] [efa] "
                       "[slingshot] [tcp] [all]"});
}

std::string_view without_comment(std::string_view line) {
  if (line.starts_with('#')) return "";
  const size_t at = line.find(" #");
  return trim(line.substr(0, at));
}

}  // namespace

Result<SiteFile> parse_site_file(std::string_view text,
                                 const std::string& where) {
  if (text.size() > kMaxText) return wrong(where, "more than 64 KiB");
  SiteFile out;
  std::string section;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const std::string place = where + ":" + std::to_string(number);
    const auto line = without_comment(trim(raw));
    if (line.empty()) continue;
    if (line.find('\0') != line.npos) return wrong(place, "a NUL byte");
    if (line.starts_with('[')) {
      const auto word = line.substr(1, line.size() - 2);
      const bool known = line.ends_with(']') &&
                         std::find(kSections.begin(), kSections.end(), word) !=
                             kSections.end();
      if (!known) return wrong(place, "an unknown section");
      section = word == "all" ? "" : std::string(word);
      continue;
    }
    const size_t equals = line.find('=');
    const auto name = trim(line.substr(0, equals));
    if (equals == line.npos || !is_variable(name)) {
      return wrong(place, "no NAME=VALUE");
    }
    SiteValue value{section, std::string(name),
                    std::string(trim(line.substr(equals + 1))), place};
    for (const SiteValue& before : out.values) {
      if (before.section == section && before.name == value.name) {
        return wrong(place, value.name + " is already set at " + before.origin);
      }
    }
    out.values.push_back(std::move(value));
  }
  return out;
}

}  // namespace muster
