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

// The hosts of a program, in its own order, with its slots there.
std::vector<AppHost> places_of(const AppSpec& app,
                               const std::vector<PlannedHost>& hosts) {
  std::vector<AppHost> out;
  for (const AppHost& own : app.hosts) {
    const int slots = hosts[static_cast<size_t>(own.node)].slots;
    out.push_back(
        {own.node, own.slots > 0 ? std::min(own.slots, slots) : slots});
  }
  for (size_t node = 0; app.hosts.empty() && node < hosts.size(); ++node) {
    out.push_back({static_cast<int>(node), hosts[node].slots});
  }
  return out;
}

// The number of ranks of a program without one.
int64_t capacity(const JobSpec& spec, const AppSpec& app,
                 const std::vector<PlannedHost>& hosts) {
  int64_t total = 0;
  for (const AppHost& place : places_of(app, hosts)) {
    total += spec.map_by == MapBy::kPerNode ? spec.per_node : place.slots;
  }
  return total;
}

bool names_own_hosts(const JobSpec& spec) {
  return std::any_of(spec.apps.begin(), spec.apps.end(),
                     [](const AppSpec& app) { return !app.hosts.empty(); });
}

// "2 hosts x 4 slots = 8", or "4 + 2 slots = 6" if they differ.
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
                ", raise slotsPerWorker (of a TrainJob: numProcPerNode) or the "
                "number of workers, or pass --oversubscribe."});
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
                      "Lower the ranks per node, raise slotsPerWorker (of a "
                      "TrainJob: numProcPerNode), or pass --oversubscribe."});
  }
  return {};
}

// The number of ranks of each program; the sum is the size of the world.
Result<std::vector<int>> ranks_per_app(const JobSpec& spec,
                                       const std::vector<PlannedHost>& hosts) {
  std::vector<int> counts;
  const auto all_of = [&](const AppSpec& app) {
    return static_cast<int>(
        std::min<int64_t>(capacity(spec, app, hosts), kMaxRanks));
  };
  if (spec.apps.size() == 1) {
    const std::optional<int> asked = spec.np ? spec.np : spec.apps[0].np;
    counts.push_back(asked ? *asked : all_of(spec.apps[0]));
  } else {
    for (const AppSpec& app : spec.apps) {
      const bool fills =
          spec.in_turns || spec.map_by == MapBy::kPerNode || !app.hosts.empty();
      if (!app.np && !app.argv.empty() && fills) {
        counts.push_back(all_of(app));
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

// One program of several, or one with ranks per node, has no place.
tl::unexpected<Error> no_room(const JobSpec& spec, const AppSpec& app,
                              int asked,
                              const std::vector<PlannedHost>& hosts) {
  const std::string what = "cannot place " + counted(asked, "rank");
  if (app.hosts.empty()) {
    return fail(
        Error{"not_enough_slots",
              what,
              counted(static_cast<int64_t>(hosts.size()), "host") + " x " +
                  std::to_string(spec.per_node) +
                  " per node = " + std::to_string(capacity(spec, app, hosts)),
              {},
              "Lower -n or raise the ranks per node."});
  }
  constexpr size_t kShown = 8;
  std::vector<std::string> names;
  for (const AppHost& place : places_of(app, hosts)) {
    names.push_back(hosts[static_cast<size_t>(place.node)].name + ":" +
                    std::to_string(place.slots));
    if (names.size() == kShown) break;
  }
  if (app.hosts.size() > kShown) names.emplace_back("...");
  return fail(Error{
      "not_enough_slots",
      what + " of " + shell_quote(app.argv[0]),
      "its own hosts have too few free slots: " + join(names, ","),
      {},
      "Write the slots behind each host, as in -H " +
          hosts[static_cast<size_t>(app.hosts[0].node)].name + ":" +
          std::to_string(asked) + ", lower -np, or pass --oversubscribe."});
}

// How many of the `count` ranks of a program each of its places takes beside
// the ranks already there. Deals ranks beyond the slots evenly on top.
std::vector<int> room_on(const JobSpec& spec,
                         const std::vector<AppHost>& places,
                         const std::vector<int>& used, int count) {
  std::vector<int> room;
  for (const AppHost& place : places) {
    const bool no_limit = spec.map_by == MapBy::kPerNode && spec.oversubscribe;
    const int taken = used[static_cast<size_t>(place.node)];
    room.push_back(no_limit ? count : std::max(0, place.slots - taken));
  }
  if (!spec.oversubscribe) return room;
  const int64_t total = std::accumulate(room.begin(), room.end(), int64_t{0});
  const auto nodes = static_cast<int64_t>(places.size());
  const int64_t extra = std::max<int64_t>(0, count - total);
  for (int64_t i = 0; i < nodes && extra > 0; ++i) {
    const int64_t share = extra / nodes + (i < extra % nodes ? 1 : 0);
    room[static_cast<size_t>(i)] += static_cast<int>(share);
  }
  return room;
}

// The nodes of the ranks of one program: fills up in order, or deals one by
// one. False: some have no place.
bool place_app(const JobSpec& spec, int count,
               const std::vector<AppHost>& places, std::vector<int>& used,
               std::vector<int>& node_of) {
  std::vector<int> room = room_on(spec, places, used, count);
  const int most = spec.map_by == MapBy::kNode      ? 1
                   : spec.map_by == MapBy::kPerNode ? spec.per_node
                                                    : count;
  for (bool placed = true; placed && count > 0;) {
    placed = false;
    for (size_t i = 0; i < places.size(); ++i) {
      const int here = std::min({most, room[i], count});
      node_of.insert(node_of.end(), static_cast<size_t>(here), places[i].node);
      used[static_cast<size_t>(places[i].node)] += here;
      room[i] -= here;
      count -= here;
      placed = placed || here > 0;
    }
    if (spec.map_by != MapBy::kNode) break;
  }
  return count == 0;
}

// So many on each host, then again from the first one on.
void place_in_turns(const JobSpec& spec, int count,
                    const std::vector<AppHost>& places,
                    std::vector<int>& node_of) {
  for (size_t i = 0; count > 0; i = (i + 1) % places.size()) {
    const int most = spec.map_by == MapBy::kNode      ? 1
                     : spec.map_by == MapBy::kPerNode ? spec.per_node
                                                      : places[i].slots;
    const int here = std::min(most, count);
    node_of.insert(node_of.end(), static_cast<size_t>(here), places[i].node);
    count -= here;
  }
}

// The node of every rank. By node, with ranks per node and on hosts of its own,
// each program starts anew, as in Open MPI.
Result<std::vector<int>> place(const JobSpec& spec,
                               const std::vector<PlannedHost>& hosts,
                               const std::vector<int>& counts) {
  std::vector<int> node_of;
  if (spec.in_turns && !names_own_hosts(spec)) {
    const int size = std::accumulate(counts.begin(), counts.end(), 0);
    place_in_turns(spec, size, places_of({}, hosts), node_of);
    return node_of;
  }
  std::vector<int> used(hosts.size(), 0);
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto places = places_of(spec.apps[i], hosts);
    if (spec.in_turns) {
      place_in_turns(spec, counts[i], places, node_of);
    } else if (!place_app(spec, counts[i], places, used, node_of)) {
      return no_room(spec, spec.apps[i], counts[i], hosts);
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
  for (const PlannedHost& host : hosts) slots += host.slots;
  const Result<std::vector<int>> counts = ranks_per_app(spec, hosts);
  if (!counts) return fail(counts.error());
  const int size = std::accumulate(counts->begin(), counts->end(), 0);
  // The message names the hosts of a program that has its own.
  const bool limited =
      !spec.oversubscribe && !spec.in_turns && !names_own_hosts(spec);
  if (size > slots && limited) return too_few(size, hosts, slots);
  const auto node_of = place(spec, hosts, *counts);
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
