// SPDX-License-Identifier: Apache-2.0
#include "job/port_range.h"

#include "base/text.h"

namespace muster {

Result<PortRange> parse_port_range(const std::string& text) {
  const auto parts = split(text, '-');
  const auto first = parse_integer(parts[0]);
  const auto last = parts.size() == 2 ? parse_integer(parts[1]) : std::nullopt;
  if (!first || !last || *first < 1 || *last > 65535 || *first > *last) {
    return fail(Error{"usage", "'" + text + "' does not name a range of ports",
                      "", "", "as in 40000-40999"});
  }
  return PortRange{static_cast<int>(*first), static_cast<int>(*last)};
}

}  // namespace muster
