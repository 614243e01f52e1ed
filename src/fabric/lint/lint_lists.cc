// SPDX-License-Identifier: Apache-2.0
// lint_lists(): NCCL_IB_HCA and NCCL_SOCKET_IFNAME. Their grammar is NCCL's
// own and full of traps: names are prefixes, ^ and = count only in front. Pure.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "fabric/lint/lint.h"

namespace muster {

namespace {

std::vector<std::string> known_names(const FabricPodState& pod, bool adapters) {
  std::vector<std::string> names;
  if (adapters && pod.facts->hcas) {
    for (const auto& hca : *pod.facts->hcas) names.push_back(hca.name);
  }
  if (!adapters && pod.facts->netdevs) {
    for (const auto& netdev : *pod.facts->netdevs) names.push_back(netdev.name);
  }
  return names;
}

void lint_grammar(FabricJob& job, FabricPodState& pod, const std::string& name,
                  const std::string& value, const NameList& list) {
  std::set<std::string> seen;
  for (const auto& entry : list.entries) {
    if (entry.name.find_first_of("^=") != std::string::npos) {
      lint_warn(job, pod, "lint_list_sign",
                name + "=" + value +
                    ": ^ and = count at the start of the whole value only; \"" +
                    entry.name + "\" matches nothing",
                "write ^ or = once, in front");
    }
    const std::string text = entry.name + ":" + std::to_string(entry.port);
    if (!seen.insert(text).second) {
      lint_warn(job, pod, "lint_duplicate",
                name + " names " + entry.name + " twice",
                "another adapter was likely meant");
    }
  }
}

void lint_prefixes(FabricJob& job, FabricPodState& pod, const std::string& name,
                   const NameList& list,
                   const std::vector<std::string>& names) {
  if (list.exact) return;
  for (const auto& entry : list.entries) {
    std::vector<std::string> more;
    bool itself = false;
    for (const std::string& known : names) {
      itself = itself || known == entry.name;
      const bool named =
          std::any_of(list.entries.begin(), list.entries.end(),
                      [&](auto& other) { return other.name == known; });
      if (!named && known.starts_with(entry.name)) more.push_back(known);
    }
    if (!itself || more.empty()) continue;
    lint_warn(job, pod, "lint_prefix",
              name + ": " + entry.name + " also matches " + join(more, ", ") +
                  ", because names match by their beginning",
              "put = in front of the whole value");
  }
}

// With its ports, which count from 1; adapters without known ports have any.
bool admits_some_port(const FabricPodState& pod, const NameList& list,
                      const std::string& adapter) {
  bool any = false;
  for (const PortView& view : pod.ports) {
    if (view.hca->name != adapter) continue;
    any = true;
    if (admits(list, adapter, view.port->number)) return true;
  }
  return !any && admits(list, adapter);
}

// "mlx5_8" for "mlx_8": a name alike that the list leaves out. The number
// counts: eth0 is no other way to write eth1.
std::string meant_by(const std::string& wrong, const NameList& list,
                     std::vector<std::string> names) {
  const auto number = [](const std::string& name) {
    return name.substr(name.find_last_not_of("0123456789") + 1);
  };
  std::erase_if(names, [&](auto& name) {
    return number(name) != number(wrong) || admits(list, name);
  });
  return nearest(wrong, names).value_or("");
}

// Adapters whose interfaces the list names instead.
std::vector<std::string> adapters_behind(const FabricPodState& pod,
                                         const NameList& list) {
  std::vector<std::string> out;
  for (const PortView& view : pod.ports) {
    const std::string netdev = port_netdev(*pod.facts, *view.port);
    if (!netdev.empty() && admits(list, netdev)) out.push_back(view.name());
  }
  return out;
}

// Their names; of many the prefix that takes them all: "rdma" of rdma0 to
// rdma7.
std::string short_list(const std::vector<std::string>& names) {
  const auto stem = [](const std::string& name) {
    return name.substr(0, name.find_last_not_of("0123456789") + 1);
  };
  const std::string first = stem(names.front());
  const bool all = std::all_of(names.begin(), names.end(),
                               [&](auto& name) { return stem(name) == first; });
  constexpr size_t kFew = 4;
  return all && !first.empty() && names.size() > kFew ? first
                                                      : join(names, ",");
}

// One finding for all pods whose adapters a list does not name, with any names
// in each.
void report_no_adapter(FabricJob& job, FabricPodState& pod,
                       const std::string& value, const NameList& list) {
  constexpr size_t kMostKinds = 4;
  std::set<std::string> kinds;
  std::string other;  // adapters of the pods that the list leaves out
  bool elsewhere = false;
  for (const FabricPodState& any : job.pods) {
    const auto users = effective(*any.facts, "NCCL_IB_HCA");
    const auto names = known_names(any, true);
    if (!users || users->value != value || names.empty()) continue;
    const bool named = std::any_of(names.begin(), names.end(), [&](auto& one) {
      return admits_some_port(any, list, one);
    });
    elsewhere = elsewhere || named;
    if (named) continue;
    if (other.empty()) other = short_list(names);
    kinds.insert(join(names, ", "));
  }
  std::vector<std::string> shown(kinds.begin(), kinds.end());
  const size_t more = shown.size();
  if (more > kMostKinds) shown.resize(kMostKinds);
  const auto behind = adapters_behind(pod, list);
  report(
      job, &pod,
      {Severity::kWarning, "lint_matches_nothing",
       "NCCL_IB_HCA=" + value + " matches none of " +
           join(shown, more > 1 ? "; " : "") +
           (more > kMostKinds
                ? " and " + std::to_string(more - kMostKinds) + " more"
                : "") +
           (behind.empty() ? ""
                           : ": it names interfaces, and NCCL wants the "
                             "adapters behind them"),
       "",
       !behind.empty() ? "NCCL_IB_HCA==" + join(behind, ",")
       : elsewhere && !list.exact && !list.exclude
           ? "NCCL_IB_HCA=" + value + "," + other + " in all pods, or remove it"
           : "correct the names, or remove it"});
}

void lint_matches(FabricJob& job, FabricPodState& pod, const std::string& name,
                  const std::string& value, const NameList& list,
                  const std::vector<std::string>& names) {
  if (names.empty()) return;
  const bool adapters = name == "NCCL_IB_HCA";
  const bool any = std::any_of(names.begin(), names.end(), [&](auto& known) {
    return adapters ? admits_some_port(pod, list, known) : admits(list, known);
  });
  if (!any && name == "NCCL_SOCKET_IFNAME" && pod.version) {
    report(job, &pod,
           {Severity::kError, "lint_matches_nothing",
            name + "=" + value + " matches none of " + join(names, ", ") +
                ": NCCL stops with \"no socket interface found\"",
            "",
            value.find_first_of("\"'") == value.npos
                ? "correct the name, or remove it"
                : "take the quotation marks out: they belong to the name"});
    return;
  }
  if (!any && adapters) return report_no_adapter(job, pod, value, list);
  if (!any) {
    lint_warn(job, pod, "lint_matches_nothing",
              name + "=" + value + " matches none of " + join(names, ", "),
              "correct the names, or remove it");
    return;
  }
  if (list.exclude) return;
  for (const auto& entry : list.entries) {
    const bool found = std::any_of(
        names.begin(), names.end(),
        [&](auto& known) { return entry_matches(entry, list.exact, known); });
    if (found || entry.name.find_first_of("^=") != std::string::npos) continue;
    const bool blank = entry.name.find(' ') != std::string::npos;
    const std::string meant = meant_by(entry.name, list, names);
    // A list may well name interfaces of other nodes (NVIDIA/nccl#286); a
    // missing adapter is a rail less.
    report(
        job, &pod,
        {adapters || blank ? Severity::kWarning : Severity::kInfo,
         "lint_missing_name",
         name + ": there is no " +
             (blank ? "\"" + entry.name + "\"" : entry.name) + " in this pod",
         "",
         blank ? "take the blanks out: they belong to the name"
         : !meant.empty()
             ? "write " + meant + ", if that is meant"
             : "device names differ between nodes: give each pod its own "
               "list"});
  }
}

// Ports with link-local addresses beside ports with others. In one layer-2
// network they may do; if each cable is a network of its own, NCCL asks for a
// peer by an address that is at the end of another cable. rails.cc reports
// those that a prefix takes.
void lint_unaddressed(FabricJob& job, FabricPodState& pod,
                      const NameList& list) {
  std::vector<std::string> without;
  std::vector<std::string> right;
  for (const PortView& view : pod.ports) {
    const bool named =
        std::any_of(list.entries.begin(), list.entries.end(),
                    [&](auto& entry) { return entry.name == view.hca->name; });
    if (named && view.role == kUnaddressed) without.push_back(view.name());
    if (view.chosen) right.push_back(view.name());
  }
  if (without.empty()) return;
  const bool ends = linked_by_cables(job);
  report(job, &pod,
         {ends ? Severity::kError : Severity::kWarning, "lint_unusable_port",
          "NCCL_IB_HCA names " + join(without, ", ") + ", " +
              (without.size() == 1 ? "which has" : "which have") +
              " link-local addresses only" +
              (ends ? ": over cables without a switch they reach no peer"
                    : ": they reach peers inside one layer-2 network"),
          "GID tables",
          "NCCL_IB_HCA==" + join(right, ",") +
              ", or give their interfaces IP addresses"});
}

void lint_ports(FabricJob& job, FabricPodState& pod, const NameList& list) {
  lint_unaddressed(job, pod, list);
  for (const PortView& view : pod.ports) {
    if (view.usable || !admits(list, view.hca->name, view.port->number)) {
      continue;
    }
    // NCCL skips ports that are down: a prefix may well cover some.
    const bool by_name =
        std::any_of(list.entries.begin(), list.entries.end(),
                    [&](auto& entry) { return entry.name == view.hca->name; });
    if (!view.nccl_sees && !by_name) continue;
    lint_warn(job, pod, "lint_unusable_port",
              "NCCL_IB_HCA names " + view.name() +
                  ", which is not usable: " + view.reason,
              "leave it out");
  }
}

}  // namespace

void lint_lists(FabricJob& job, FabricPodState& pod, const std::string& name,
                const std::string& value) {
  const bool adapters = name == "NCCL_IB_HCA";
  if (!adapters && name != "NCCL_SOCKET_IFNAME") return;
  const NameList list = parse_name_list(value);
  const auto names = known_names(pod, adapters);
  lint_grammar(job, pod, name, value, list);
  lint_prefixes(job, pod, name, list, names);
  lint_matches(job, pod, name, value, list, names);
  if (!adapters) lint_interfaces(job, pod, value, list);
  if (adapters && !list.exclude) lint_ports(job, pod, list);
  if (list.entries.size() > 32) {
    lint_warn(job, pod, "lint_long_list",
              name + " has more than 32 entries: NCCL keeps 32",
              "shorten it, for example by a common prefix");
  }
}

}  // namespace muster
