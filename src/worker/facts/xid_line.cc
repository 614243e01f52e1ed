// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/xid_line.h"

#include <algorithm>
#include <climits>

#include "base/text.h"

namespace muster {

namespace {

std::string word(const std::string& text) { return text.empty() ? "-" : text; }

std::string unword(std::string_view text) {
  return text == "-" ? std::string() : std::string(text);
}

int64_t ago_ms(Clock::time_point then, Clock::time_point now) {
  return std::chrono::duration_cast<Milliseconds>(now - then).count();
}

}  // namespace

std::string to_line(const XidNews& news) {
  return "xid " + std::to_string(news.xid) + " " + std::to_string(news.gpu) +
         " " + std::to_string(news.count) + " " + word(news.pci) + " " +
         word(news.uuid) + (news.mig ? " mig" : " gpu");
}

std::optional<XidNews> xid_news_from_line(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() != 7 || words[0] != "xid" ||
      (words[6] != "mig" && words[6] != "gpu")) {
    return std::nullopt;
  }
  const auto xid = parse_integer(words[1]);
  const auto gpu = parse_integer(words[2]);
  const auto count = parse_integer(words[3]);
  if (!xid || *xid < 1 || *xid > INT_MAX || !gpu || *gpu < 0 ||
      *gpu > INT_MAX || !count || *count < 1) {
    return std::nullopt;
  }
  return XidNews{
      static_cast<int>(*xid), static_cast<int>(*gpu), *count,
      unword(words[4]),       unword(words[5]),       words[6] == "mig"};
}

void XidCounts::add(const XidNews& news, Clock::time_point now) {
  const auto known =
      std::find_if(entries_.begin(), entries_.end(), [&news](const Entry& one) {
        return one.sum.xid == news.xid && one.sum.gpu == news.gpu &&
               one.sum.uuid == news.uuid;
      });
  if (known != entries_.end()) {
    known->sum.count += news.count;
    known->last = now;
  } else if (entries_.size() < wire::kMostXids) {
    entries_.push_back({news, now, now});
  }
}

void XidCounts::tell(wire::PodCounters& out, Clock::time_point now) const {
  for (const Entry& one : entries_) {
    out.xids.push_back({one.sum.xid, one.sum.gpu, one.sum.pci, one.sum.uuid,
                        one.sum.mig, one.sum.count, ago_ms(one.first, now),
                        ago_ms(one.last, now)});
  }
}

}  // namespace muster
