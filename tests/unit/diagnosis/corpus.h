// SPDX-License-Identifier: Apache-2.0
// The answers to the logs in a folder of tests/diagnosis: expected.tsv.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"

namespace muster {

struct Expected {
  std::string file;
  std::string code;
  int rank = -1;
  bool no_rank = false;  // the log tells none: a verdict may not either
  int exit_code = -1;
  std::string confidence;
  std::string host;  // empty: not asked
};

inline std::vector<Expected> read_expected(const std::string& directory) {
  const auto text = read_file(directory + "/expected.tsv");
  REQUIRE(text);
  std::vector<Expected> all;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const auto fields = split(line, '\t');
    REQUIRE(fields.size() >= 3);
    Expected expected{std::string(fields[0]), std::string(fields[1])};
    expected.rank = static_cast<int>(parse_integer(fields[2]).value_or(-1));
    expected.no_rank = fields[2] == "none";
    if (fields.size() >= 5) {
      if (const auto exit_code = parse_integer(fields[3])) {
        expected.exit_code = static_cast<int>(*exit_code);
        expected.confidence = fields[4];
      } else if (fields[3] != "-") {
        expected.host = fields[3];
      }
    }
    all.push_back(expected);
  }
  return all;
}

// Of "a|b" either is right.
inline bool is_right(const std::string& code, const std::string& wanted) {
  const auto all = split(wanted, '|');
  return std::find(all.begin(), all.end(), code) != all.end();
}

}  // namespace muster
