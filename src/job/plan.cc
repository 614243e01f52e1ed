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
  if (spec.map_by != MapBy::kPerNode || spec.oversubscribe || spec.in_turns) {
    return {};
  }
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
    const bool each_fills = spec.in_turns || spec.map_by == MapBy::kPerNode;
    for (const AppSpec& app : spec.apps) {
      if (!app.np && !app.argv.empty() && each_fills) {
        counts.push_back(static_cast<int>(std::min<int64_t>(total, kMaxRanks)));
        continue;
      }
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

tl::unexpected<Error> too_many_per_node(const JobSpec& spec, int asked,
                                        size_t hosts, int64_t total) {
  return fail(Error{"not_enough_slots",
                    "cannot place " + counted(asked, "rank"),
                    counted(static_cast<int64_t>(hosts), "host") + " x " +
                        std::to_string(spec.per_node) +
                        " per node = " + std::to_string(total),
                    {},
                    "Lower -n or raise the ranks per node."});
}

// How many ranks each host takes. Where there are more than slots, the rest is
// dealt evenly on top.
std::vector<int> room_on(const JobSpec& spec,
                         const std::vector<PlannedHost>& hosts, int size) {
  std::vector<int> room;
  for (const PlannedHost& host : hosts) {
    const bool no_limit = spec.map_by == MapBy::kPerNode && spec.oversubscribe;
    room.push_back(no_limit ? size : host.slots);
  }
  const int64_t total = std::accumulate(room.begin(), room.end(), int64_t{0});
  const auto nodes = static_cast<int64_t>(hosts.size());
  const int64_t extra = std::max<int64_t>(0, size - total);
  for (int64_t i = 0; i < nodes && extra > 0; ++i) {
    const int64_t share = extra / nodes + (i < extra % nodes ? 1 : 0);
    room[static_cast<size_t>(i)] += static_cast<int>(share);
  }
  return room;
}

// The nodes of the ranks of one program: fill up in order, or deal one by one.
// False: not all of them have a place.
bool place_app(const JobSpec& spec, int count, std::vector<int>& room,
               std::vector<int>& node_of) {
  const int most = spec.map_by == MapBy::kNode      ? 1
                   : spec.map_by == MapBy::kPerNode ? spec.per_node
                                                    : count;
  for (bool placed = true; placed && count > 0;) {
    placed = false;
    for (size_t node = 0; node < room.size(); ++node) {
      const int here = std::min({most, room[node], count});
      node_of.insert(node_of.end(), static_cast<size_t>(here),
                     static_cast<int>(node));
      room[node] -= here;
      count -= here;
      placed = placed || here > 0;
    }
    if (spec.map_by != MapBy::kNode) break;
  }
  return count == 0;
}

// So many on each host, then again from the first one on.
std::vector<int> place_in_turns(const JobSpec& spec,
                                const std::vector<PlannedHost>& hosts,
                                int size) {
  std::vector<int> node_of;
  for (size_t node = 0; static_cast<int>(node_of.size()) < size;
       node = (node + 1) % hosts.size()) {
    const int most =
        spec.map_by == MapBy::kNode ? 1 : capacity(spec, hosts[node]);
    const int left = size - static_cast<int>(node_of.size());
    node_of.insert(node_of.end(), static_cast<size_t>(std::min(most, left)),
                   static_cast<int>(node));
  }
  return node_of;
}

// The node of every rank. By node and so many per node start anew with each
// program, as in Open MPI.
Result<std::vector<int>> place(const JobSpec& spec,
                               const std::vector<PlannedHost>& hosts,
                               const std::vector<int>& counts, int64_t total) {
  const int size = std::accumulate(counts.begin(), counts.end(), 0);
  if (spec.in_turns) return place_in_turns(spec, hosts, size);
  std::vector<int> room = room_on(spec, hosts, size);
  std::vector<int> node_of;
  for (const int count : counts) {
    if (!place_app(spec, count, room, node_of)) {
      return too_many_per_node(spec, count, hosts.size(), total);
    }
  }
  return node_of;
}

void add_findings(int64_t total, Plan& plan) {
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
  if (size > total) {
    plan.findings.push_back(
        {Severity::kWarning, "oversubscribed",
         counted(size, "rank") + " share " + counted(total, "slot"), "",
         "expect ranks to wait for CPUs and GPUs"});
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
  const bool limited = !spec.oversubscribe && !spec.in_turns;
  if (size > slots && limited) return too_few(size, hosts, slots);
  const auto node_of = place(spec, hosts, *counts, total);
  if (!node_of) return fail(node_of.error());

  Plan plan;
  for (const PlannedHost& host : hosts) {
    plan.nodes.push_back({host.name, host.slots, -1, {}, host.is_launcher});
  }
  size_t app = 0;
  int left = (*counts)[0];
  for (const int node : *node_of) {
    if (left == 0) left = (*counts)[++app];
    --left;
    PlannedNode& home = plan.nodes[static_cast<size_t>(node)];
    const int rank = static_cast<int>(plan.ranks.size());
    if (home.first_rank < 0) home.first_rank = rank;
    plan.ranks.push_back({rank, node, static_cast<int>(home.ranks.size()),
                          static_cast<int>(app), spec.apps[app].argv});
    home.ranks.push_back(rank);
  }
  add_findings(slots, plan);
  return plan;
}

}  // namespace muster
