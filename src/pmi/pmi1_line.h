// SPDX-License-Identifier: Apache-2.0
// One line of the PMI-1 simple wire protocol, read and written:
// "cmd=put kvsname=k key=a value=some text". `value` and `msg` reach to the
// end of the line and may hold spaces (pmodels/mpich
// src/pmi/maint/pmi-1.1.txt). Refuses nothing: what is not NAME=VALUE is
// dropped. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

struct Pmi1Line {
  std::string command;  // "" if the line has none
  std::vector<std::pair<std::string, std::string>> fields;

  [[nodiscard]] const std::string* find(std::string_view name) const;
  [[nodiscard]] std::string get(std::string_view name) const;  // "" if absent
  [[nodiscard]] std::optional<int> get_int(std::string_view name) const;
};

// Without the newline. "mcmd=spawn" gives the command "mcmd".
Pmi1Line parse_pmi1_line(std::string_view line);

}  // namespace muster
