// SPDX-License-Identifier: Apache-2.0
#include "pmi/pmi1_line.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace muster {

const std::string* Pmi1Line::find(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string Pmi1Line::get(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::string() : *value;
}

std::optional<int> Pmi1Line::get_int(std::string_view name) const {
  const std::string* value = find(name);
  const auto number = value == nullptr ? std::nullopt : parse_integer(*value);
  if (!number || *number > std::numeric_limits<int>::max() ||
      *number < std::numeric_limits<int>::min()) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

Pmi1Line parse_pmi1_line(std::string_view line) {
  Pmi1Line out;
  while (!line.empty()) {
    const size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    const size_t equals = line.find('=');
    const size_t space = line.find_first_of(" \t\r");
    if (equals == std::string_view::npos || space < equals) {
      line.remove_prefix(std::min(space, line.size()));
      continue;
    }
    const std::string name(line.substr(0, equals));
    const bool to_end = name == "value" || name == "msg";
    const size_t end = to_end ? line.size() : std::min(space, line.size());
    std::string value(line.substr(equals + 1, end - equals - 1));
    line.remove_prefix(end);
    if (name == "cmd") {
      out.command = std::move(value);
    } else if (name == "mcmd") {
      out.command = "mcmd";
    } else {
      out.fields.emplace_back(name, std::move(value));
    }
  }
  return out;
}

}  // namespace muster
