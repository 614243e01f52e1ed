// SPDX-License-Identifier: Apache-2.0
#include "job/placement_notes.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace muster {

namespace {

// Quotas come from floats: 4.0 may arrive as 3.9999.
constexpr double kRounding = 1e-3;

using HostsByText = std::map<std::string, std::vector<std::string>>;

// "w-0", "w-0 and w-1", "w-0 and 14 more".
std::string few(const std::vector<std::string>& hosts) {
  if (hosts.size() == 1) return hosts[0];
  if (hosts.size() == 2) return hosts[0] + " and " + hosts[1];
  return hosts[0] + " and " + std::to_string(hosts.size() - 1) + " more";
}

std::string cpu_words(const NodeFacts& facts) {
  const bool quota =
      facts.cpu_quota > 0 && (facts.cpus_allowed <= 0 ||
                              facts.cpu_quota < facts.cpus_allowed - kRounding);
  if (!quota) {
    return std::to_string(facts.cpus_allowed) +
           (facts.cpus_allowed == 1 ? " CPU" : " CPUs");
  }
  const double tenths = std::round(facts.cpu_quota * 10);
  std::string text = std::to_string(static_cast<int>(tenths) / 10);
  const int rest = static_cast<int>(tenths) % 10;
  if (rest != 0) text += "." + std::to_string(rest);
  return "a CPU limit of " + text;
}

bool too_many(int ranks, const NodeFacts& facts) {
  const double cpus = usable_cpus(facts);
  return ranks > 1 && cpus > 0 && ranks > cpus + kRounding;
}

Finding crowded(const std::string& who, const std::string& what) {
  return {Severity::kWarning, "ranks_exceed_cpus",
          who + ": " + what + ", so that ranks wait for a CPU", "",
          "raise the pods' CPU request and limit, or start fewer ranks per "
          "node"};
}

void note_cpus(const std::vector<PlacedRanks>& nodes,
               std::vector<Finding>& out) {
  HostsByText crowds;
  for (const PlacedRanks& node : nodes) {
    if (!too_many(node.ranks, *node.facts)) continue;
    crowds[std::to_string(node.ranks) + " ranks on " + cpu_words(*node.facts)]
        .push_back(node.host);
  }
  for (const auto& [text, hosts] : crowds) {
    out.push_back(crowded(few(hosts), text));
  }
}

void note_one_machine(const std::vector<PlacedRanks>& nodes,
                      std::vector<Finding>& out) {
  int ranks = 0;
  for (const PlacedRanks& node : nodes) ranks += node.ranks;
  if (nodes.empty() || !too_many(ranks, *nodes[0].facts)) return;
  out.push_back(crowded("this machine", std::to_string(ranks) + " ranks on " +
                                            cpu_words(*nodes[0].facts)));
}

// UCX maps shared memory in huge pages where the node has some ("try").
bool ucx_leaves_them(const Environment& env) {
  for (const char* name : {"UCX_POSIX_HUGETLB_MODE", "UCX_SYSV_HUGETLB_MODE"}) {
    const std::string* mode = find_env(env, name);
    if (mode == nullptr || (*mode != "n" && *mode != "no")) return false;
  }
  return true;
}

std::string mebibytes(int64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

void note_huge_pages(const std::vector<PlacedRanks>& nodes,
                     std::vector<Finding>& out) {
  std::vector<std::string> denied;
  HostsByText limited;
  for (const PlacedRanks& node : nodes) {
    const NodeFacts& facts = *node.facts;
    if (node.ranks == 0 || facts.huge_pages <= 0) continue;
    if (facts.huge_pages_limit == 0) {
      if (!ucx_leaves_them(node.env)) denied.push_back(node.host);
    } else if (facts.huge_pages_limit > 0) {
      limited[mebibytes(facts.huge_pages_limit)].push_back(node.host);
    }
  }
  if (!denied.empty()) {
    out.push_back({Severity::kWarning, "huge_pages_denied",
                   few(denied) +
                       ": the node has huge pages and the pod may use none, "
                       "which a rank that tries them learns by SIGBUS",
                   "",
                   "add hugepages-2Mi to the pods' limits, or set "
                   "UCX_POSIX_HUGETLB_MODE=n and UCX_SYSV_HUGETLB_MODE=n"});
  }
  for (const auto& [size, hosts] : limited) {
    out.push_back({Severity::kInfo, "huge_pages_limited",
                   few(hosts) + ": ranks share " + size + " of huge pages", "",
                   ""});
  }
}

}  // namespace

double usable_cpus(const NodeFacts& facts) {
  if (facts.cpu_quota <= 0) return facts.cpus_allowed;
  if (facts.cpus_allowed <= 0) return facts.cpu_quota;
  return std::min(facts.cpu_quota, static_cast<double>(facts.cpus_allowed));
}

std::vector<Finding> placement_notes(const std::vector<PlacedRanks>& nodes,
                                     bool one_machine) {
  std::vector<Finding> out;
  if (one_machine) {
    note_one_machine(nodes, out);
    return out;
  }
  note_cpus(nodes, out);
  note_huge_pages(nodes, out);
  return out;
}

}  // namespace muster
