// SPDX-License-Identifier: Apache-2.0
#include "job/short_names.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.h"
#include "job/plan.h"

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

std::string_view without_number(std::string_view label) {
  return label.substr(0, label.find_last_not_of("0123456789") + 1);
}

// The likely host for `name`, which is not the job's, among similar names.
std::optional<Stranger> like_one_of(const std::string& name,
                                    const std::vector<HostEntry>& job) {
  const std::string label = to_lower(first_label(name));
  size_t most = std::min<size_t>(2, label.size() / 3);
  std::optional<Stranger> found;
  for (const HostEntry& host : job) {
    const std::string other = to_lower(first_label(host.name));
    if (without_number(other) == without_number(label)) {
      if (!found) found = Stranger{name, {}};
      continue;
    }
    const size_t edits = edit_distance(label, other);
    if (edits > most) continue;
    most = edits - 1;  // a later name must be nearer
    found = Stranger{name, host.name};
  }
  return found;
}

}  // namespace

void give_one_slot_each(std::vector<HostEntry>& hosts, int ranks) {
  int64_t slots = 0;
  for (const HostEntry& host : hosts) {
    slots += host.all_slots ? kMaxRanks : host.slots;
  }
  if (ranks > slots) return;
  for (HostEntry& host : hosts) host.slots_given |= !host.all_slots;
}

std::vector<Stranger> use_job_names(std::vector<HostEntry>& hosts,
                                    const std::vector<HostEntry>& job) {
  constexpr size_t kMostGuesses = 8;  // each is compared with all of the job
  std::set<std::string> labels;
  for (const HostEntry& host : job) {
    labels.insert(to_lower(first_label(host.name)));
  }
  std::vector<Stranger> strangers;
  for (HostEntry& host : hosts) {
    if (is_ip_address(host.name)) continue;
    const bool dotted = host.name.find('.') != std::string::npos;
    const HostEntry* const known = dotted ? nullptr : meant(host.name, job);
    if (known == nullptr) {
      const bool guess = strangers.size() < kMostGuesses &&
                         labels.count(to_lower(first_label(host.name))) == 0;
      auto stranger = guess ? like_one_of(host.name, job) : std::nullopt;
      if (!stranger && !dotted) stranger = Stranger{host.name, {}};
      if (stranger) strangers.push_back(std::move(*stranger));
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
