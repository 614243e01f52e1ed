// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/plan_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "logs/masker.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostShown = 64 << 10;  // of a value

std::string shown(const EnvDecision& decision) {
  return is_secret(decision.name, decision.value)
             ? std::string(kMask)
             : printable_line(shell_quote(decision.value), kMostShown);
}

std::string rank_range(const PlannedNode& node) {
  if (node.ranks.empty()) return "no rank";
  const std::string first = std::to_string(node.ranks.front());
  if (node.ranks.size() == 1) return "rank " + first;
  const bool dense = node.ranks.back() - node.ranks.front() + 1 ==
                     static_cast<int>(node.ranks.size());
  if (dense) return "ranks " + first + "-" + std::to_string(node.ranks.back());
  std::string out = "ranks ";
  for (const int rank : node.ranks) {
    if (rank != node.ranks.front()) out += ',';
    out += std::to_string(rank);
  }
  return out;
}

// By name: the values of this node's ranks, each once, where the merge has
// another or none.
std::map<std::string, std::vector<std::string>> set_for_ranks(
    const EnvMerge& merge, size_t node, const std::vector<NativeRank>& ranks) {
  constexpr size_t kMostValues = 8;
  Environment merged;
  for (const EnvDecision& decision : merge.decisions) {
    merged.emplace_back(decision.name, decision.value);
  }
  std::map<std::string, std::vector<std::string>> out;
  for (const NativeRank& rank : ranks) {
    if (rank.node != node) continue;
    for (const auto& [name, value] : rank.env) {
      const std::string* const before = find_env(merged, name);
      if (before != nullptr && *before == value) continue;
      auto& values = out[name];
      const std::string quoted = shell_quote(value);
      if (std::find(values.begin(), values.end(), quoted) != values.end() ||
          values.size() > kMostValues) {
        continue;
      }
      values.push_back(values.size() == kMostValues ? "…" : quoted);
    }
  }
  return out;
}

}  // namespace

std::string plan_text(const Agreement& agreement, const Discovery& discovery,
                      const std::vector<NodeFacts>& facts) {
  std::string out;
  const auto line = [&out](const std::string& text) { out += text + "\n"; };
  line("hosts      " + std::to_string(discovery.hosts.size()) + " from " +
       discovery.hosts_source);
  if (!discovery.contract.role_reason.empty()) {
    line("role       launcher: " + discovery.contract.role_reason);
  }
  if (discovery.keys) line("key        " + discovery.keys->source);
  if (!discovery.contract.ssh_port_reason.empty()) {
    line("port       " + std::to_string(discovery.contract.ssh_port) + ": " +
         discovery.contract.ssh_port_reason);
  }
  const MpiFacts& mpi = facts[0].mpi;
  line("mpi        " +
       (mpi.family.empty()
            ? std::string("none in the launcher's image")
            : mpi.family + " " + mpi.version + " (" + mpi.launcher + ")"));
  line(std::string("start      ") +
       (agreement.bootstrap == Bootstrap::kMpirun ? "mpirun" : "native") +
       ": " + agreement.bootstrap_reason);
  for (size_t i = 0; i < agreement.plan.nodes.size(); ++i) {
    const PlannedNode& node = agreement.plan.nodes[i];
    line((i == 0 ? "ranks      " : "           ") + node.name + "  " +
         rank_range(node) + "  (" + std::to_string(node.slots) +
         (node.slots == 1 ? " slot: " : " slots: ") +
         agreement.slots[i].reason + ")");
  }
  if (!agreement.binding.bound.empty()) {
    for (const auto& mapped : map_lines(agreement.plan, agreement.binding)) {
      line("map        " + mapped);
    }
  }
  if (!agreement.words.empty()) {
    std::vector<std::string> quoted;
    for (const auto& word : agreement.words) {
      quoted.push_back(shell_quote(word));
    }
    line("line       " + join(quoted, " "));
  }
  for (const auto& dropped : agreement.dropped) {
    line("replaced   " + dropped);
  }
  if (!agreement.fabric.summary.empty()) {
    line("network    " + agreement.fabric.summary);
  }
  for (const std::string& reason : agreement.fabric.reasons) {
    line("set        " + reason);
  }
  for (const std::string& kept : agreement.fabric.kept) {
    line("kept       " + kept);
  }
  for (const Finding& finding : agreement.findings) {
    line("note       " + finding.text +
         (finding.remedy.empty() ? "" : ". " + finding.remedy));
  }
  return out;
}

std::string plan_json(const Agreement& agreement, const Discovery& discovery,
                      const std::vector<NodeFacts>& facts) {
  Json out;
  out["plan"] = 1;
  out["hosts_source"] = discovery.hosts_source;
  out["role_reason"] = discovery.contract.role_reason;
  out["ssh_port"] = discovery.contract.ssh_port;
  out["mpi"] = {{"family", facts[0].mpi.family},
                {"version", facts[0].mpi.version},
                {"launcher", facts[0].mpi.launcher}};
  out["bootstrap"] = bootstrap_name(agreement.bootstrap);
  out["bootstrap_reason"] = agreement.bootstrap_reason;
  out["nodes"] = Json::array();
  for (size_t i = 0; i < agreement.plan.nodes.size(); ++i) {
    const PlannedNode& node = agreement.plan.nodes[i];
    out["nodes"].push_back({{"name", node.name},
                            {"slots", node.slots},
                            {"slots_reason", agreement.slots[i].reason},
                            {"slots_notes", agreement.slots[i].notes},
                            {"ranks", node.ranks},
                            {"launcher", node.is_launcher}});
  }
  out["network"] = {{"summary", agreement.fabric.summary},
                    {"set", agreement.fabric.reasons},
                    {"kept", agreement.fabric.kept}};
  out["words"] = agreement.words;
  out["replaced"] = agreement.dropped;
  out["findings"] = Json::array();
  for (const Finding& finding : agreement.findings) {
    out["findings"].push_back({{"code", finding.code},
                               {"text", finding.text},
                               {"evidence", finding.evidence},
                               {"remedy", finding.remedy}});
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string environment_text(const Agreement& agreement,
                             const std::vector<std::string>& hosts,
                             const std::vector<NativeRank>& ranks) {
  std::string out;
  for (size_t i = 0; i < agreement.env.size(); ++i) {
    out += hosts[i] + ":\n";
    const auto own = set_for_ranks(agreement.env[i], i, ranks);
    for (const auto& [name, values] : own) {
      out += "  " + name + "=" +
             (is_secret_name(name) ? std::string(kMask) : join(values, ", ")) +
             "  # set for each rank\n";
    }
    if (ranks.empty()) {
      out +=
          "  # RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and NODE_RANK: "
          "set for each rank, from mpirun's numbers\n";
      for (const auto& [name, value] :
           {std::pair{"MASTER_ADDR", &agreement.meeting.address},
            std::pair{"MASTER_PORT", &agreement.meeting.port}}) {
        if (agreement.env[i].find(name) != nullptr) continue;
        out +=
            std::string("  ") + name + "=" + *value + "  # set for each rank\n";
      }
    }
    for (const EnvDecision& decision : agreement.env[i].decisions) {
      if (own.count(decision.name) > 0) continue;
      if (decision.source == EnvSource::kWorker && !decision.overridden &&
          decision.reason.find("stays") == std::string::npos) {
        continue;
      }
      out += "  " + decision.name + "=" + shown(decision) + "  # " +
             decision.reason + "\n";
    }
  }
  return out;
}

}  // namespace muster
