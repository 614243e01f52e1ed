// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/name_list.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

NameList parse_name_list(std::string_view text) {
  NameList list;
  if (text.starts_with('^')) {
    list.exclude = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    list.exact = true;
    text.remove_prefix(1);
  }
  for (const auto part : split(text, ',')) {
    const auto fields = split(part, ':');
    if (fields[0].empty()) continue;
    NameList::Entry entry{std::string(fields[0]), -1};
    // "mlx5_0::1" has a rail and no port, since 2.30.7.
    if (fields.size() > 1 && !fields[1].empty()) {
      entry.port = std::atoi(std::string(fields[1]).c_str());
    }
    list.entries.push_back(std::move(entry));
  }
  return list;
}

bool entry_matches(const NameList::Entry& entry, bool exact,
                   std::string_view name, int port) {
  const bool named = exact ? name == entry.name : name.starts_with(entry.name);
  return named && (port < 0 || entry.port < 0 || entry.port == port);
}

bool admits(const NameList& list, std::string_view name, int port) {
  if (list.entries.empty()) return true;
  const bool found =
      std::any_of(list.entries.begin(), list.entries.end(), [&](auto& entry) {
        return entry_matches(entry, list.exact, name, port);
      });
  return found != list.exclude;
}

}  // namespace muster
