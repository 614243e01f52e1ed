// SPDX-License-Identifier: Apache-2.0
// Huge pages of the node's default size, and how many bytes of them this pod
// may use. The kernel checks the limit when a page is touched, not when it is
// mapped: a limit of 0 kills the process with SIGBUS.
// `root` is put before every absolute path. Never fails.
#pragma once

#include <cstdint>
#include <string>

#include "worker/facts/facts_cgroup.h"

namespace muster {

struct HugePages {
  int64_t total = -1;  // pages on the node; -1: unknown
  int64_t limit = -1;  // bytes; -1: none or unknown
};

HugePages read_huge_pages(const std::string& root, const CgroupPlace& place);

}  // namespace muster
