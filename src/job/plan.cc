// SPDX-License-Identifier: Apache-2.0
// Counts first (how many ranks on which host), then numbers. Pure.
#include "job/plan.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace muster {

namespace {

std::string counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

int capacity(const JobSpec& spec, const PlannedHost& host) {
  if (spec.map_by == MapBy::kPerNode) return spec.per_node;
  return host.slots;
}

// "2 hosts x 4 slots = 8", or "4 + 2 slots = 6" where they differ.
std::string arithmetic(const std::vector<PlannedHost>& hosts, int64_t total) {
  const int first = hosts[0].slots;
  const bool same = std::all_of(
      hosts.begin(), hosts.end(),
      [first](const PlannedHost& host) { return host.slots == first; });
  const auto count = static_cast<int64_t>(hosts.size());
  if (same) {
    return counted(count, "host") + " x " + counted(first, "slot") + " = " +
           std::to_string(total);
  }
  constexpr size_t kShown = 8;
  std::vector<std::string> terms;
  for (const PlannedHost& host : hosts) {
    if (terms.size() == kShown) {
      terms.emplace_back("...");
      break;
    }
    terms.push_back(std::to_string(host.slots));
  }
  return join(terms, " + ") + " slots on " + counted(count, "host") + " = " +
         std::to_string(total);
}

tl::unexpected<Error> too_few(int64_t asked,
                              const std::vector<PlannedHost>& hosts,
                              int64_t total) {
  return fail(
      Error{"not_enough_slots",
            "cannot place " + counted(asked, "rank"),
            arithmetic(hosts, total) + ", " + counted(asked - total, "slot") +
                " too few",
            {},
            "Lower -n to " + std::to_string(total) +
                ", raise slotsPerWorker or the number of workers, or pass "
                "--oversubscribe."});
}

Status check(const JobSpec& spec, const std::vector<PlannedHost>& hosts) {
  if (hosts.empty()) {
    return fail(Error{"no_hosts",
                      "there is no host to run ranks on",
                      "the hostfile and -H name none",
                      {},
                      "Give the job workers, or name hosts with -H."});
  }
  for (const PlannedHost& host : hosts) {
    if (host.slots >= 1 && host.slots <= kMaxSlots) continue;
    return fail(
        Error{"usage",
              "host " + host.name + " has an impossible number of slots",
              std::to_string(host.slots),
              {},
              "Give 1 to 65536."});
  }
  if (spec.apps.empty() || spec.apps[0].argv.empty()) {
    return fail(Error{"no_program",
                      "there is no program to run",
                      {},
                      {},
                      "Write it after \"--\"."});
  }
  if (spec.map_by == MapBy::kPerNode &&
      (spec.per_node < 1 || spec.per_node > kMaxSlots)) {
    return fail(Error{"usage",
                      "the number of ranks per node is impossible",
                      std::to_string(spec.per_node),
                      {},
                      "Give 1 to 65536."});
  }
  return {};
}

// ppr:N:node beyond the slots of a host is oversubscribing, too.
Status check_per_node(const JobSpec& spec,
                      const std::vector<PlannedHost>& hosts) {
  if (spec.map_by != MapBy::kPerNode || spec.oversubscribe) return {};
  for (const PlannedHost& host : hosts) {
    if (spec.per_node <= host.slots) continue;
    return fail(Error{"not_enough_slots",
                      "cannot place " + counted(spec.per_node, "rank") +
                          " on host " + host.name,
                      "it has " + counted(host.slots, "slot"),
                      {},
                      "Lower the ranks per node, raise slotsPerWorker, or pass "
                      "--oversubscribe."});
  }
  return {};
}

// How many ranks each program gets; the sum is the size of the world.
Result<std::vector<int>> ranks_per_app(const JobSpec& spec, int64_t total) {
  std::vector<int> counts;
  if (spec.apps.size() == 1) {
    const std::optional<int> asked = spec.np ? spec.np : spec.apps[0].np;
    counts.push_back(
        asked.value_or(static_cast<int>(std::min<int64_t>(total, kMaxRanks))));
  } else {
    for (const AppSpec& app : spec.apps) {
      if (!app.np || app.argv.empty()) {
        return fail(Error{"usage",
                          "a program among several needs its own -np",
                          app.argv.empty() ? "a program is missing"
                                           : shell_quote(app.argv[0]),
                          {},
                          "Write -np N before each program."});
      }
      counts.push_back(*app.np);
    }
  }
  int64_t size = 0;
  for (const int count : counts) {
    size += count;
    if (count >= 1 && size <= kMaxRanks) continue;
    return fail(Error{"usage",
                      "the number of ranks is impossible",
                      std::to_string(count),
                      {},
                      "Give 1 to 1048576."});
  }
  return counts;
}

// The node of every rank: fill up in order, or deal one by one. Where there
// are more ranks than capacity, the rest is dealt evenly on top.
std::vector<int> place(const JobSpec& spec,
                       const std::vector<PlannedHost>& hosts, int size) {
  std::vector<int> limit;
  for (const PlannedHost& host : hosts) limit.push_back(capacity(spec, host));
  const int64_t total = std::accumulate(limit.begin(), limit.end(), int64_t{0});
  const auto nodes = static_cast<int64_t>(hosts.size());
  int64_t extra = std::max<int64_t>(0, size - total);
  for (int64_t i = 0; i < nodes && extra > 0; ++i) {
    const int64_t share = extra / nodes + (i < extra % nodes ? 1 : 0);
    limit[static_cast<size_t>(i)] += static_cast<int>(share);
  }
  std::vector<int> node_of;
  std::vector<int> used(hosts.size(), 0);
  size_t node = 0;
  while (static_cast<int>(node_of.size()) < size) {
    if (used[node] < limit[node]) {
      ++used[node];
      node_of.push_back(static_cast<int>(node));
      if (spec.map_by != MapBy::kNode) continue;
    }
    node = (node + 1) % hosts.size();
  }
  return node_of;
}

void add_findings(const JobSpec& spec, int64_t total, Plan& plan) {
  const auto size = static_cast<int64_t>(plan.ranks.size());
  std::vector<std::string> idle;
  for (const PlannedNode& node : plan.nodes) {
    if (node.ranks.empty()) idle.push_back(node.name);
  }
  if (!idle.empty()) {
    plan.findings.push_back(
        {Severity::kWarning, "idle_hosts",
         counted(static_cast<int64_t>(idle.size()), "host") +
             " will run no rank, the first is " + idle[0],
         counted(size, "rank") + " on " + counted(total, "slot"),
         "raise -n, or map by node to spread the ranks"});
  }
  if (size > total && spec.oversubscribe) {
    plan.findings.push_back(
        {Severity::kWarning, "oversubscribed",
         counted(size, "rank") + " share " + counted(total, "slot"),
         "--oversubscribe", "expect ranks to wait for CPUs and GPUs"});
  }
}

}  // namespace

Result<Plan> make_plan(const JobSpec& spec,
                       const std::vector<PlannedHost>& hosts) {
  if (Status status = check(spec, hosts); !status) return fail(status.error());
  if (Status status = check_per_node(spec, hosts); !status) {
    return fail(status.error());
  }
  int64_t slots = 0;
  int64_t total = 0;
  for (const PlannedHost& host : hosts) {
    slots += host.slots;
    total += capacity(spec, host);
  }
  const Result<std::vector<int>> counts = ranks_per_app(spec, total);
  if (!counts) return fail(counts.error());
  const int size = std::accumulate(counts->begin(), counts->end(), 0);
  if (size > total && spec.map_by == MapBy::kPerNode) {
    return fail(Error{"not_enough_slots",
                      "cannot place " + counted(size, "rank"),
                      counted(static_cast<int64_t>(hosts.size()), "host") +
                          " x " + std::to_string(spec.per_node) +
                          " per node = " + std::to_string(total),
                      {},
                      "Lower -n or raise the ranks per node."});
  }
  if (size > slots && !spec.oversubscribe) return too_few(size, hosts, slots);

  Plan plan;
  for (const PlannedHost& host : hosts) {
    plan.nodes.push_back({host.name, host.slots, -1, {}, host.is_launcher});
  }
  size_t app = 0;
  int left = (*counts)[0];
  for (const int node : place(spec, hosts, size)) {
    if (left == 0) left = (*counts)[++app];
    --left;
    PlannedNode& home = plan.nodes[static_cast<size_t>(node)];
    const int rank = static_cast<int>(plan.ranks.size());
    if (home.first_rank < 0) home.first_rank = rank;
    plan.ranks.push_back({rank, node, static_cast<int>(home.ranks.size()),
                          static_cast<int>(app), spec.apps[app].argv});
    home.ranks.push_back(rank);
  }
  add_findings(spec, slots, plan);
  return plan;
}

}  // namespace muster
