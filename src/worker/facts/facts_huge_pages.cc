// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/facts_huge_pages.h"

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

// "Hugepagesize:       2048 kB" in /proc/meminfo.
int64_t value_of(std::string_view meminfo, std::string_view name) {
  for (const auto line : split(meminfo, '\n')) {
    if (!line.starts_with(name)) continue;
    const auto words = split_words(line.substr(name.size()));
    return words.empty() ? -1 : parse_integer(words[0]).value_or(-1);
  }
  return -1;
}

// As the kernel names its files: "2MB", "1GB", "64KB".
std::string size_name(int64_t kib) {
  if (kib >= 1 << 20) return std::to_string(kib >> 20) + "GB";
  if (kib >= 1 << 10) return std::to_string(kib >> 10) + "MB";
  return std::to_string(kib) + "KB";
}

}  // namespace

HugePages read_huge_pages(const std::string& root, const CgroupPlace& place) {
  HugePages out;
  const auto meminfo = read_file(root + "/proc/meminfo");
  if (!meminfo) return out;
  out.total = value_of(*meminfo, "HugePages_Total:");
  const std::string file =
      "/hugetlb." + size_name(value_of(*meminfo, "Hugepagesize:"));
  // v1 has it in a hierarchy of its own, of which a pod sees its group.
  const auto limit =
      read_file(place.version == 2 ? place.memory + file + ".max"
                                   : root + "/sys/fs/cgroup/hugetlb" + file +
                                         ".limit_in_bytes");
  if (!limit) return out;
  // "max", and v1's LONG_MAX rounded down to a page: no limit.
  const auto bytes = parse_integer(trim(*limit));
  if (bytes && *bytes < int64_t{1} << 60) out.limit = *bytes;
  return out;
}

}  // namespace muster
