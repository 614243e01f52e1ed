// SPDX-License-Identifier: Apache-2.0
// WentOn: the lines of one owner that show further work. An owner may be a log
// of several hosts, and the progress of one says nothing about another. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "diagnosis/evidence.h"

namespace muster {

class WentOn {
 public:
  void record(const LineEvidence& line, size_t order) {
    last_[line.host] = order;
  }
  [[nodiscard]] size_t last_for(std::string_view host) const {
    size_t last = 0;
    for (const auto& [name, order] : last_) {
      const bool same = name.empty() || host.empty() || name == host;
      if (same) last = std::max(last, order);
    }
    return last;
  }
  void clear() { last_.clear(); }

 private:
  std::map<std::string, size_t> last_;  // by host; "": unknown
};

}  // namespace muster
