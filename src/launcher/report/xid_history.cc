// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/xid_history.h"

#include <algorithm>

#include "diagnosis/book/xid_book.h"

namespace muster {

std::vector<XidEvidence> XidHistory::add(const std::vector<wire::GpuXid>& told,
                                         int64_t now_ns) {
  constexpr int64_t kMs = 1'000'000;
  std::vector<XidEvidence> news;
  for (const wire::GpuXid& one : told) {
    const auto known =
        std::find_if(all_.begin(), all_.end(), [&one](const XidEvidence& xid) {
          return xid.xid == one.xid && xid.gpu == one.gpu &&
                 xid.uuid == one.uuid;
        });
    const int64_t last_ns = now_ns - one.last_ms * kMs;
    if (known != all_.end()) {
      int64_t& before = told_[static_cast<size_t>(known - all_.begin())];
      if (one.count == before) continue;
      known->count += one.count > before ? one.count - before : one.count;
      known->last_ns = last_ns;
      before = one.count;
    } else if (all_.size() < wire::kMostXids) {
      all_.push_back({one.xid, one.gpu, one.pci, one.uuid, one.mig, one.count,
                      now_ns - one.first_ms * kMs, last_ns});
      told_.push_back(one.count);
      news.push_back(all_.back());
    }
  }
  return news;
}

std::string xid_line(const std::string& host, const XidEvidence& xid) {
  const std::string& name = xid.uuid.empty() ? xid.pci : xid.uuid;
  return host + ": GPU " + std::to_string(xid.gpu) +
         (name.empty() ? "" : " (" + name + ")") + ": " + xid_text(xid.xid) +
         (xid.count > 1 ? ", " + std::to_string(xid.count) + " times" : "");
}

}  // namespace muster
