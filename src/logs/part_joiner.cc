// SPDX-License-Identifier: Apache-2.0
#include "logs/part_joiner.h"

#include <utility>

namespace muster {

std::optional<ParsedLine> PartJoiner::add(ParsedLine line) {
  if (line.part == 0) return line;
  const Writer writer{line.rank, line.source, line.host, line.stream};
  auto found = open_.find(writer);
  if (found == open_.end()) {
    found = open_.emplace(writer, std::move(line)).first;
  } else if (found->second.sequence == line.sequence &&
             found->second.part + 1 == line.part) {
    ParsedLine& whole = found->second;
    whole.message += line.message;
    whole.part = line.part;
    whole.last_part = line.last_part;
  } else {  // the end of the one before is missing
    ParsedLine before = std::exchange(found->second, std::move(line));
    if (found->second.last_part) open_.erase(found);
    return before;
  }
  if (!found->second.last_part && found->second.message.size() < kMaxLine) {
    return {};
  }
  return std::move(open_.extract(found).mapped());
}

std::vector<ParsedLine> PartJoiner::rest() {
  std::vector<ParsedLine> out;
  for (auto& [writer, line] : std::exchange(open_, {})) {
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace muster
