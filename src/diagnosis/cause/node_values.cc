// SPDX-License-Identifier: Apache-2.0
// Turns a node's samples into values for the sentences of the rules.
#include <algorithm>
#include <climits>
#include <cmath>

#include "base/text.h"
#include "diagnosis/cause/candidate.h"

namespace muster {

namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

// 34359738368 -> "32 GiB", 34252364185 -> "31.9 GiB", small ones in MiB.
std::string gib(int64_t bytes) {
  const bool small = bytes < (int64_t{1} << 30);
  const double value =
      static_cast<double>(bytes) / (small ? kGib / 1024.0 : kGib);
  const double tenths = std::round(value * 10.0) / 10.0;
  const int64_t whole = static_cast<int64_t>(tenths);
  std::string text = std::to_string(whole);
  const int64_t tenth = static_cast<int64_t>(
      std::llround((tenths - static_cast<double>(whole)) * 10.0));
  if (tenth > 0) text += "." + std::to_string(tenth);
  return text + (small ? " MiB" : " GiB");
}

// A quarter more than was used, rounded up to whole GiB (MiB below one).
std::string suggest(int64_t bytes) {
  const double more = static_cast<double>(bytes) * 1.25;
  if (more < kGib) {
    return std::to_string(
               static_cast<int64_t>(std::ceil(more / (kGib / 1024.0)))) +
           "Mi";
  }
  return std::to_string(static_cast<int64_t>(std::ceil(more / kGib))) + "Gi";
}

void memory_values(const NodeEvidence& node, Captures& values) {
  if (node.memory.empty()) return;
  const MemorySample& last = node.memory.back();
  int64_t limit = -1;
  int64_t peak = -1;
  for (const MemorySample& sample : node.memory) {
    limit = std::max(limit, sample.limit);
    peak = std::max({peak, sample.peak, sample.bytes});
  }
  if (limit > 0) values["limit"] = gib(limit);
  // A pod that can read its use can read its limit.
  if (limit < 0 && peak > 0) values["no_limit"] = "yes";
  if (peak > 0) values["peak"] = gib(peak);
  const int64_t wanted = std::max(peak, limit);
  if (wanted > 0 && limit > 0) values["memory_suggest"] = suggest(wanted);
  if (last.bytes > 0 && limit > 0) {
    values["last_memory"] = gib(last.bytes) + " of " + gib(limit);
    values["memory_state"] =
        "the last memory sample was " + values["last_memory"];
  }
  if (was_near_limit(node)) {
    values["near_limit"] = "yes";
  } else if (last.bytes > 0 && limit > 0) {
    // For victims of the kernel there: no sample shows it.
    values["memory_growth"] = "it grew from " + gib(last.bytes) +
                              " to its limit of " + gib(limit) +
                              " behind the last sample";
  }
  // Only if the kernel's counter could be read and did not move.
  const bool counted = node.oom_kills_at_start >= 0 && !oom_counter_rose(node);
  // A peak that did not rise during the job belongs to an earlier one.
  int64_t used = last.peak > node.memory.front().peak ? last.peak : 0;
  for (const MemorySample& sample : node.memory) {
    used = std::max(used, sample.bytes);
  }
  if (counted && limit > 0 && used > 0 && used < limit / 2) {
    values["ample_memory"] = "it had used " + gib(used) + " of " + gib(limit) +
                             ", and the kernel counted no memory kill";
    values["killer"] = "the sender of the signal";
  }
}

void disk_values(const NodeEvidence& node, Captures& values) {
  for (const DiskEvidence& disk : node.disks) {
    if (disk.size <= 0) continue;
    const std::string state = disk.path + " had " +
                              gib(std::max<int64_t>(disk.free, 0)) +
                              " free of " + gib(disk.size);
    if (disk.path == "/dev/shm") {
      values["shm_size"] = gib(disk.size);
      values["shm_suggest"] =
          disk.size < (int64_t{4} << 30) ? "8Gi" : suggest(2 * disk.size);
      if (disk.free >= 0) values["shm_state"] = state;
    } else if (disk.free >= 0 && disk.free < disk.size / 100) {
      values["disk_state"] = state;
    }
  }
}

// A rank may take the rest between two samples: the last one was past three
// quarters, and at its pace the limit was reached when the node disappeared, at
// once. A silence that began much earlier proves nothing.
bool was_filling(const NodeEvidence& node) {
  constexpr int64_t kAtOnceNs = 1'000'000'000;
  constexpr int64_t kSlackNs = 100'000'000;
  if (node.memory.size() < 2 || node.lost_ns <= 0) return false;
  const MemorySample& last = node.memory.back();
  const MemorySample& before = node.memory[node.memory.size() - 2];
  const int64_t grown_ns = last.time_ns - before.time_ns;
  const int64_t gone_ns = node.lost_ns - last.time_ns;
  if (last.bytes < last.limit / 4 * 3 || before.bytes < 0 ||
      last.bytes <= before.bytes || grown_ns <= 0 || gone_ns < 0 ||
      gone_ns > kAtOnceNs) {
    return false;
  }
  const double pace = static_cast<double>(last.bytes - before.bytes) /
                      static_cast<double>(grown_ns);
  return static_cast<double>(last.bytes) +
             pace * static_cast<double>(gone_ns + kSlackNs) >=
         static_cast<double>(last.limit);
}

}  // namespace

bool oom_counter_rose(const NodeEvidence& node) {
  const int64_t before = node.oom_kills_at_start;
  return before >= 0 && std::any_of(node.memory.begin(), node.memory.end(),
                                    [before](const MemorySample& sample) {
                                      return sample.oom_kills > before;
                                    });
}

bool was_near_limit(const NodeEvidence& node) {
  if (node.memory.empty()) return false;
  const MemorySample& last = node.memory.back();
  if (last.limit <= 0) return false;
  return last.bytes >= last.limit / 10 * 9 || was_filling(node);
}

Captures node_values(const NodeEvidence* node) {
  Captures values;
  if (node == nullptr) return values;
  if (!node->host.empty()) values["target"] = node->host;
  memory_values(*node, values);
  disk_values(*node, values);
  return values;
}

const NodeEvidence* find_node(const Evidence& evidence, int node,
                              const std::string& host) {
  for (const NodeEvidence& known : evidence.nodes) {
    if (node >= 0 ? known.node == node : !host.empty() && known.host == host) {
      return &known;
    }
  }
  return nullptr;
}

int rank_number(std::string_view told) {
  const int64_t number = parse_integer(told).value_or(-1);
  return number >= 0 && number <= INT_MAX ? static_cast<int>(number) : -1;
}

const RankEvidence* find_rank(const Evidence& evidence, int rank) {
  if (rank < 0) return nullptr;
  for (const RankEvidence& known : evidence.ranks) {
    if (known.rank == rank) return &known;
  }
  return nullptr;
}

}  // namespace muster
