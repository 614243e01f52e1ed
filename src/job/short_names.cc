// SPDX-License-Identifier: Apache-2.0
#include "job/short_names.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {

// The job's host that `name` means; nullptr: none, or more than one.
const HostEntry* meant(const std::string& name,
                       const std::vector<HostEntry>& job) {
  const HostEntry* found = nullptr;
  for (const HostEntry& host : job) {
    if (host.name == name) return &host;
    // DNS knows no case.
    if (to_lower(first_label(host.name)) != to_lower(name)) continue;
    if (found != nullptr) return nullptr;
    found = &host;
  }
  return found;
}

}  // namespace

void give_one_slot_each(std::vector<HostEntry>& hosts, int ranks) {
  int64_t slots = 0;
  for (const HostEntry& host : hosts) slots += host.slots;
  if (ranks > slots) return;
  for (HostEntry& host : hosts) host.slots_given = true;
}

std::vector<std::string> use_job_names(std::vector<HostEntry>& hosts,
                                       const std::vector<HostEntry>& job) {
  std::vector<std::string> strangers;
  for (HostEntry& host : hosts) {
    if (host.name.find('.') != std::string::npos || is_ip_address(host.name)) {
      continue;
    }
    const HostEntry* const known = meant(host.name, job);
    if (known == nullptr) {
      strangers.push_back(host.name);
      continue;
    }
    // Two spellings of one host stay two entries: one name twice is refused.
    const bool taken =
        std::any_of(hosts.begin(), hosts.end(), [&](const HostEntry& other) {
          return &other != &host && other.name == known->name;
        });
    if (!taken) host.name = known->name;
  }
  return strangers;
}

}  // namespace muster
