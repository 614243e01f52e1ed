// SPDX-License-Identifier: Apache-2.0
// Finds the control group this process is in (v1, v2, hybrid, with or without
// a cgroup namespace) and reads its limits and counters.
// A limit may sit on any level above: the smallest one seen counts.
// `root` is put before every absolute path. Never fails: unknown is -1.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

struct CgroupPlace {
  int version = 0;           // 1, 2; 0: none found
  std::string memory;        // directory of the memory controller; may be ""
  std::string memory_mount;  // its mount point, where walking up ends
  std::string cpu;
  std::string cpu_mount;
};

CgroupPlace find_cgroup(const std::string& root);

struct CgroupMemory {
  int64_t limit = -1;  // bytes; -1: none or unknown
  // Bytes, without the page cache that the kernel would rather drop than kill
  // for (what kubelet calls the working set): a pod that has read a large
  // file is not near its limit.
  int64_t usage = -1;
  int64_t peak = -1;       // bytes
  int64_t oom_kills = -1;  // processes the kernel killed in this group
};

CgroupMemory read_cgroup_memory(const CgroupPlace& place);
// CgroupMemory::oom_kills alone: the rest, of which the kernel adds up
// memory.stat for us, costs many times more.
int64_t read_oom_kills(const CgroupPlace& place);
// Bytes with page cache: one small file, so that it can be looked at often.
int64_t read_cgroup_charge(const CgroupPlace& place);
// CFS quota in CPUs; -1: none.
double read_cpu_quota(const CgroupPlace& place);

}  // namespace muster
