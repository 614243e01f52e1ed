// SPDX-License-Identifier: Apache-2.0
// The one design of all pages that muster writes: head, style, escaping, and a
// heat map of pairs. A page needs no script, font or network; and it forbids
// scripts, so that programs' output stays text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Text for HTML and its attributes: escaped, without control characters.
std::string html_text(std::string_view text);

// `title` is text, `body` is HTML.
std::string html_page(std::string_view title, const std::string& body);

struct HeatMap {
  std::string what;  // "bandwidth"
  std::string unit;  // "Gbit/s"
  bool more_is_better = true;
  std::vector<std::string> names;
  std::vector<double> values;  // row by row, from row to column; < 0: none
};

// One square per pair, the worst darkest; "" if there are no figures.
std::string heat_map_html(const HeatMap& map);

}  // namespace muster
