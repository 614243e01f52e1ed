// SPDX-License-Identifier: Apache-2.0
// How `muster-agent gpu-watch` tells the agent of Xids, and what the agent
// keeps of them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "wire/pod_counters.h"

namespace muster {

// So many more Xids of one kind, the last of them now.
struct XidNews {
  int xid = 0;
  int gpu = -1;
  int64_t count = 0;
  std::string pci;
  std::string uuid;
  bool mig = false;
};

// "xid 79 0 1 0000:1a:00.0 GPU-5e… gpu"; "-" for what is not known.
std::string to_line(const XidNews& news);
// nullopt: no such line.
std::optional<XidNews> xid_news_from_line(std::string_view line);

// One entry for each GPU (or MIG instance) and number, the first ones: a GPU
// that fails in ever new ways has said enough.
class XidCounts {
 public:
  void add(const XidNews& news, Clock::time_point now);
  void tell(wire::PodCounters& out, Clock::time_point now) const;

 private:
  struct Entry {
    XidNews sum;
    Clock::time_point first;
    Clock::time_point last;
  };
  std::vector<Entry> entries_;
};

}  // namespace muster
