// SPDX-License-Identifier: Apache-2.0
// Agreement: NCCL joins the i-th adapter of one node with the i-th of the
// other, so all pods must use the same rails. Identifies a rail by its subnet
// (RoCE), else by PCI address or name if the machines are alike, else by
// position. Then decides whether NCCL_IB_HCA is needed. Pure.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/name_list.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/gids.h"

namespace muster {

namespace {

constexpr size_t kNcclMaxDevices = 32;

using Keys = std::vector<std::string>;  // one per chosen port; "": unknown

std::vector<PortView*> chosen(FabricPodState& pod) {
  std::vector<PortView*> out;
  for (PortView& view : pod.ports) {
    if (view.chosen) out.push_back(&view);
  }
  return out;
}

std::string subnet_key(const FabricPodState& pod, const PortView& view) {
  const FabricNetdev* netdev =
      find_netdev(*pod.facts, port_netdev(*pod.facts, *view.port));
  if (netdev == nullptr) {  // by its GID, of the length that rails mostly have
    constexpr int kUsual = 24;
    const auto own = usable_gids(*pod.facts, *view.port, GidAddress::kIpv4);
    return own.empty() ? "" : gid_network(*own.front(), kUsual);
  }
  return port_subnet(pod, view);
}

template <class KeyOf>
std::vector<Keys> keys_by(FabricJob& job, KeyOf key_of) {
  std::vector<Keys> out;
  for (FabricPodState& pod : job.pods) {
    Keys& keys = out.emplace_back();
    for (const PortView* view : chosen(pod)) {
      keys.push_back(key_of(pod, *view));
    }
  }
  return out;
}

bool has(const Keys& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

size_t shared(const Keys& a, const Keys& b) {
  return static_cast<size_t>(std::count_if(
      a.begin(), a.end(), [&](auto& key) { return has(b, key); }));
}

// Usable as rail names: all known, distinct within a pod, and equal in all pods
// except a few, or one pod's are a part of another's. Names of virtual
// functions overlap by chance, which is not enough. Subnets do not: it is
// enough that the poorer pod shares half of its own. A pod with more than the
// others may have some unknown.
bool is_good(const std::vector<Keys>& pods, bool by_chance) {
  size_t fewest = pods.front().size();
  for (const Keys& keys : pods) fewest = std::min(fewest, keys.size());
  for (const Keys& all : pods) {
    Keys keys = all;
    if (keys.size() > fewest && !by_chance) std::erase(keys, "");
    const std::set<std::string> distinct(keys.begin(), keys.end());
    if (keys.empty() || distinct.contains("") ||
        distinct.size() != keys.size() || keys.size() < fewest) {
      return false;
    }
    const size_t common = shared(keys, pods.front());
    const size_t fewer = std::min(keys.size(), pods.front().size());
    const size_t more = std::max(keys.size(), pods.front().size());
    const bool most = common * 4 >= more * 3;
    if (common < fewer && !most && (by_chance || common * 2 < fewer)) {
      return false;
    }
  }
  return true;
}

bool is_broken_in(const FabricPodState& pod, const std::string& name) {
  return std::any_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
    return view.name() == name && !view.usable;
  });
}

// As many adapters in both, some with other names, though none of that name is
// broken: another machine, which counts them in another way.
bool renumbered(const FabricJob& job, const std::vector<Keys>& pods) {
  for (size_t i = 1; i < pods.size(); ++i) {
    if (pods[i].size() != pods[0].size()) continue;
    const auto lacks = [&](size_t one, size_t other) {
      return std::any_of(
          pods[other].begin(), pods[other].end(), [&](auto& name) {
            return !has(pods[one], name) && !is_broken_in(job.pods[one], name);
          });
    };
    if (lacks(0, i) && lacks(i, 0)) return true;
  }
  return false;
}

std::vector<Keys> rail_keys(FabricJob& job, std::string& how) {
  how = "subnet";
  auto keys = keys_by(job, subnet_key);
  if (is_good(keys, false)) return keys;
  how = "name";
  keys = keys_by(job, [](auto&, auto& view) { return view.name(); });
  if (is_good(keys, true) && !renumbered(job, keys)) return keys;
  how = "PCI address";
  keys = keys_by(job, [](auto&, auto& view) { return view.hca->pci; });
  if (is_good(keys, true)) return keys;
  how = "position";
  for (Keys& pod : keys) {
    for (size_t i = 0; i < pod.size(); ++i) pod[i] = std::to_string(i);
  }
  return keys;
}

std::set<std::string> common_keys(const std::vector<Keys>& pods) {
  std::set<std::string> common(pods.front().begin(), pods.front().end());
  for (const Keys& keys : pods) {
    std::set<std::string> next;
    for (const std::string& key : keys) {
      if (common.contains(key)) next.insert(key);
    }
    common = std::move(next);
  }
  return common;
}

// Ports that the job should not use and the user did not name: a prefix, or the
// remainder of an exclusion, takes them.
void report_extra(FabricJob& job, const FabricPodState& pod,
                  const std::string& value, const NameList& list) {
  std::vector<std::string> extra;
  std::vector<std::string> right;
  for (const PortView& view : pod.ports) {
    if (view.chosen) right.push_back(view.name());
    const bool named =
        std::any_of(list.entries.begin(), list.entries.end(),
                    [&](auto& entry) { return entry.name == view.hca->name; });
    if (view.chosen || !view.nccl_sees || named) continue;
    if (!admits(list, view.hca->name, view.port->number)) continue;
    extra.push_back(view.name() + " (" + view.role + ")");
  }
  if (extra.empty() || right.empty()) return;
  report(
      job, &pod,
      {Severity::kWarning, "lint_prefix",
       "NCCL_IB_HCA=" + value + " also takes " + join(extra, ", "),
       "names match by their beginning", "NCCL_IB_HCA==" + join(right, ",")});
}

// A port whose table holds link-local addresses only, named beside others that
// have an address: the plan does not use it. lint_ports() says why, or
// report_extra() if a prefix takes it.
void leave_unaddressed(FabricPodState& pod) {
  const auto lacks = [&](const PortView& view) {
    const auto none = [&](GidAddress kind) {
      return usable_gids(*pod.facts, *view.port, kind).empty();
    };
    return view.kind == LinkKind::kRoce && view.port->gids &&
           !view.port->gids->empty() && none(GidAddress::kIpv4) &&
           none(GidAddress::kIpv6) && !none(GidAddress::kLinkLocal);
  };
  if (std::none_of(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
        return view.chosen && view.port->gids && !view.port->gids->empty() &&
               !lacks(view);
      })) {
    return;
  }
  for (PortView& view : pod.ports) {
    if (!view.chosen || !lacks(view)) continue;
    view.chosen = false;
    view.role = kUnaddressed;
    view.reason = "it has link-local addresses only";
  }
}

void apply_users_lists(FabricJob& job) {
  for (FabricPodState& pod : job.pods) {
    const auto users = effective(*pod.facts, "NCCL_IB_HCA");
    if (!users) continue;
    const NameList list = parse_name_list(users->value);
    bool any = false;
    for (const PortView& view : pod.ports) {
      any = any ||
            (view.usable && admits(list, view.hca->name, view.port->number));
    }
    if (!any) continue;  // lint says so
    report_extra(job, pod, users->value, list);
    for (PortView& view : pod.ports) {
      const bool listed = admits(list, view.hca->name, view.port->number);
      if (view.chosen && !listed) {
        view.role = "left out";
        view.reason = "the user's NCCL_IB_HCA leaves it out";
      }
      if (!view.chosen && listed && view.usable) {
        view.role = "compute";
        view.reason = "the user's NCCL_IB_HCA names it";
      }
      view.chosen = view.usable && listed;
    }
    leave_unaddressed(pod);
  }
}

void report_narrowing(FabricJob& job, size_t most, size_t common,
                      const std::string& how) {
  report(job, nullptr,
         {Severity::kWarning, "rails_differ",
          "the pods have different adapters; " + std::to_string(common) +
              " of " + std::to_string(most) + " rails are common to all (by " +
              how + ") and used",
          "", "repair or replace the nodes with missing adapters"});
}

void drop_uncommon(FabricJob& job) {
  std::string how;
  const auto keys = rail_keys(job, how);
  const auto common = common_keys(keys);
  size_t most = 0;
  for (const Keys& pod : keys) most = std::max(most, pod.size());
  if (common.empty() || common.size() == most) return;
  report_narrowing(job, most, common.size(), how);
  for (size_t i = 0; i < job.pods.size(); ++i) {
    const auto views = chosen(job.pods[i]);
    for (size_t k = 0; k < views.size(); ++k) {
      if (common.contains(keys[i][k])) continue;
      views[k]->chosen = false;
      views[k]->role = "no peer";
      views[k]->reason = "not every pod has this rail";
    }
    job.pods[i].list_reason = "every pod must use the same rails";
  }
}

Keys subnets_of(const FabricPodState& pod, bool front_end) {
  Keys keys;
  for (const PortView& view : pod.ports) {
    const bool left_out = view.usable && view.role == "front end";
    if (front_end ? left_out : view.chosen) {
      keys.push_back(subnet_key(pod, view));
    }
  }
  return keys;
}

// Ports apart from the front end lead elsewhere in each pod (cables, other
// networks), and as many are in the network over which the pods reach each
// other: then those are the rails. Many rails in subnets of their own are
// routed, and stay.
void prefer_shared_network(FabricJob& job) {
  std::vector<Keys> apart;
  std::vector<Keys> front;
  for (const FabricPodState& pod : job.pods) {
    apart.push_back(subnets_of(pod, false));
    front.push_back(subnets_of(pod, true));
    const auto& own = apart.back();
    const bool known = std::find(own.begin(), own.end(), "") == own.end();
    if (!known || front.back().size() < own.size()) return;
  }
  const auto shared = common_keys(front);
  if (!common_keys(apart).empty() || shared.empty() || shared.contains("")) {
    return;
  }
  for (FabricPodState& pod : job.pods) {
    for (PortView& view : pod.ports) {
      if (!view.usable || view.kind != LinkKind::kRoce) continue;
      view.chosen = shared.contains(subnet_key(pod, view));
      view.role = view.chosen ? "compute" : "no peer";
      view.reason = view.chosen ? "it is in the network that all pods share"
                                : "no other pod is in its subnet";
    }
  }
  report(job, nullptr,
         {Severity::kWarning, "rails_differ",
          "adapters apart from the pods' own network lead to different "
          "subnets in each pod; those in the common network are used",
          join({shared.begin(), shared.end()}, ", "),
          "join the other ports to one fabric, or take them down"});
}

// Rails whose order differs between pods are joined crosswise.
void check_order(FabricJob& job) {
  std::string how;
  const auto keys = rail_keys(job, how);
  if (how != "subnet") return;
  for (size_t i = 1; i < keys.size(); ++i) {
    const bool same = std::is_permutation(keys[i].begin(), keys[i].end(),
                                          keys[0].begin(), keys[0].end());
    if (keys[i] == keys.front() || !same) continue;
    report(job, &job.pods[i],
           {Severity::kWarning, "rails_crossed",
            "its adapters come in another order than those of " +
                job.pods.front().plan.name +
                ": NCCL joins rails by position, so they cross",
            join(keys[i], " ") + " against " + join(keys.front(), " "),
            "NCCL 2.29.7 and later order by PCI path; or name the adapters "
            "alike on all nodes"});
  }
}

// NCCL looks at 32 ports, and its list holds 32 names.
void cut_to_limit(FabricJob& job, FabricPodState& pod) {
  size_t kept = 0;
  bool cut = false;
  for (PortView& view : pod.ports) {
    if (!view.chosen || ++kept <= kNcclMaxDevices) continue;
    view.chosen = false;
    view.role = "beyond 32";
    view.reason = "NCCL uses at most 32 ports";
    cut = true;
  }
  if (!cut) return;
  report(job, &pod,
         {Severity::kWarning, "too_many_ports",
          "NCCL uses at most 32 ports, and more are usable; the first 32 are "
          "taken",
          "", "name the right ones in NCCL_IB_HCA"});
}

// The plugin joins rails by number, and no variable of it takes a list.
void compare_counts(FabricJob& job) {
  std::map<size_t, std::vector<std::string>> by_count;
  for (FabricPodState& pod : job.pods) {
    by_count[chosen(pod).size()].push_back(pod.plan.name);
  }
  if (by_count.size() < 2) return;
  std::vector<std::string> parts;
  for (const auto& [count, pods] : by_count) {
    parts.push_back(std::to_string(count) + " in " + pods.front() +
                    (pods.size() > 1 ? " and others" : ""));
  }
  report(job, nullptr,
         {Severity::kWarning, "rails_differ",
          "the pods have different numbers of adapters (" + join(parts, ", ") +
              "): the plugin stops, or the pods with more wait for the others",
          "aws/aws-ofi-nccl#1055",
          "ask for the same number in all pods (vpc.amazonaws.com/efa)"});
}

// "mlx5_2 to mlx5_15 (foreign), eth0 (front end)": neighbours of one role.
std::string runs_of(const std::vector<const PortView*>& ports) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < ports.size();) {
    size_t end = i + 1;
    while (end < ports.size() && ports[end]->role == ports[i]->role &&
           ports[end] == ports[end - 1] + 1) {
      ++end;
    }
    if (end - i < 3) end = i + 1;
    parts.push_back(ports[i]->name() +
                    (end - i > 1 ? " to " + ports[end - 1]->name() : "") +
                    " (" + ports[i]->role + ")");
    i = end;
  }
  return join(parts, ", ");
}

void decide_list(FabricPodState& pod) {
  size_t seen = 0;
  std::vector<const PortView*> extra;
  const auto users = effective(*pod.facts, "NCCL_IB_HCA");
  const NameList list = parse_name_list(users ? users->value : "");
  for (const PortView& view : pod.ports) {
    if (!view.nccl_sees) continue;
    if (!admits(list, view.hca->name, view.port->number)) continue;
    ++seen;
    if (view.role == kUnaddressed) continue;  // lint_ports() says so
    if (!view.chosen) extra.push_back(&view);
  }
  if (!extra.empty() && pod.list_reason.empty()) {
    pod.list_reason = "NCCL alone would also take " + runs_of(extra);
  }
  if (seen > kNcclMaxDevices && pod.list_reason.empty()) {
    pod.list_reason = "NCCL stops at 32 of " + std::to_string(seen) + " ports";
  }
}

}  // namespace

void agree_rails(FabricJob& job) {
  if (job.uses_libfabric()) {
    compare_counts(job);
    return;
  }
  if (!job.uses_verbs()) return;
  apply_users_lists(job);
  if (job.pods.size() > 1) {
    if (job.transport == FabricTransport::kRoce) prefer_shared_network(job);
    drop_uncommon(job);
    check_order(job);
  }
  for (FabricPodState& pod : job.pods) {
    cut_to_limit(job, pod);
    decide_list(pod);
  }
}

}  // namespace muster
