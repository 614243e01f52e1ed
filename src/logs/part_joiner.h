// SPDX-License-Identifier: Apache-2.0
// PartJoiner: numbered parts of a long line become that line again, per writer
// and stream. Memory: at most kMaxLine per stream that is within a line; a
// longer one comes out in pieces of that size.
// Refuses nothing: a part that does not follow the one before (its log began
// late, or lacks a piece) begins anew. A pure state machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "logs/line_origin.h"

namespace muster {

class PartJoiner {
 public:
  static constexpr size_t kMaxLine = 16 << 20;

  // The line that this one completes; nothing: more has to come.
  std::optional<ParsedLine> add(ParsedLine line);
  // Lines whose end never came.
  std::vector<ParsedLine> rest();

 private:
  using Writer = std::tuple<int, std::string, std::string, std::string>;
  std::map<Writer, ParsedLine> open_;
};

}  // namespace muster
