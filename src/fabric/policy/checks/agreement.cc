// SPDX-License-Identifier: Apache-2.0
// Checks that all pods agree in NCCL's major.minor, in the plugin, and in the
// user's variables that decide how two processes talk. Pure.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/gids.h"
#include "fabric/policy/network/plugins.h"

namespace muster {

namespace {

constexpr std::array kEqual = {"NCCL_CUMEM_ENABLE", "NCCL_CUMEM_HOST_ENABLE",
                               "NCCL_NVLS_ENABLE",  "NCCL_P2P_DISABLE",
                               "NCCL_P2P_LEVEL",    "NCCL_SHM_DISABLE",
                               "NCCL_NET",          "NCCL_IB_DISABLE",
                               "NCCL_NET_PLUGIN",   "NCCL_ALGO",
                               "NCCL_PROTO",        "NCCL_MNNVL_ENABLE",
                               "NCCL_IB_TC",        "NCCL_CROSS_NIC",
                               "NCCL_BUFFSIZE"};

// "a: w0, w1; b: w2" if the values differ, else "".
std::string differing(
    const std::map<std::string, std::vector<std::string>>& by_value) {
  if (by_value.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [value, pods] : by_value) {
    std::string part = (value.empty() ? "unset" : value) + ": " + pods.front();
    if (pods.size() > 1) {
      part += " and " + std::to_string(pods.size() - 1) + " more";
    }
    parts.push_back(part);
  }
  return join(parts, "; ");
}

template <class ValueOf>
std::string difference(const FabricJob& job, ValueOf value_of) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (const FabricPodState& pod : job.pods) {
    const std::optional<std::string> value = value_of(pod);
    if (value) by_value[*value].push_back(pod.plan.name);
  }
  return differing(by_value);
}

// NCCL since 2.23 compares all of its version (src/init.cc). A version without
// the last number proves nothing.
void check_patches(FabricJob& job) {
  bool compares = false;
  const std::string versions = difference(
      job, [&](const FabricPodState& pod) -> std::optional<std::string> {
        const std::string& text = pod.facts->nccl_version;
        if (!pod.version || std::count(text.begin(), text.end(), '.') == 1) {
          return std::nullopt;
        }
        compares = compares || *pod.version >= kVersionCompared;
        return pod.version->text();
      });
  if (versions.empty() || !compares) return;
  report(job, nullptr,
         {Severity::kError, "nccl_version_skew",
          "the pods have different versions (" + versions +
              "), and NCCL since 2.23 stops where its versions are not the "
              "same (\"Mismatched NCCL version detected\")",
          versions, "use one image for all pods"});
}

void check_versions(FabricJob& job) {
  const std::string minors = difference(
      job, [](const FabricPodState& pod) -> std::optional<std::string> {
        if (!pod.version) return std::nullopt;
        const bool amd = has_amd_gpus(*pod.facts);
        return (amd ? "RCCL " : "NCCL ") + std::to_string(pod.version->major) +
               "." + std::to_string(pod.version->minor);
      });
  if (minors.empty()) return check_patches(job);
  const bool mixed = minors.find("RCCL") != std::string::npos &&
                     minors.find("NCCL ") != std::string::npos;
  report(job, nullptr,
         {Severity::kError, "nccl_version_skew",
          mixed ? "some pods have NVIDIA's NCCL and some AMD's RCCL (" +
                      minors + "), which do not talk to each other"
                : "the pods have different versions (" + minors +
                      "): they refuse to connect",
          minors,
          mixed ? "run the job on GPUs of one maker"
                : "use one image for all pods"});
}

void check_plugins(FabricJob& job) {
  const std::string plugins = difference(
      job, [](const FabricPodState& pod) -> std::optional<std::string> {
        if (!pod.facts->plugins) return std::nullopt;
        const auto loaded = loaded_plugin(*pod.facts);
        return loaded ? loaded->plugin->name : "none";
      });
  if (plugins.empty()) return;
  report(job, nullptr,
         {Severity::kWarning, "plugin_skew",
          "the pods would load different NCCL network plugins (" + plugins +
              "): processes with different networks hang",
          plugins, "use one image, or set NCCL_NET_PLUGIN in all pods"});
}

std::string value_in(const FabricPodState& pod, const char* name) {
  const auto env = pod.plan.env();
  if (const auto set = env.find(name); set != env.end()) return set->second;
  const auto users = effective(*pod.facts, name);
  return users ? users->value : "";
}

// NVLink from one machine of a rack to another needs both in every process: one
// that has it off does not look for the others there, and they wait for it
// (NCCL src/mnnvl.cc, ncclMnnvlCheck). Pods of one machine are two hosts to
// NCCL, and share only the network.
bool parts_a_rack(const FabricJob& job, std::string_view name) {
  if (name != "NCCL_CUMEM_ENABLE" && name != "NCCL_MNNVL_ENABLE") return false;
  const auto off = [](const FabricPodState& pod, const char* variable) {
    return trim(value_in(pod, variable)) == "0";
  };
  std::set<std::string> racks;
  size_t with = 0;
  for (const FabricPodState& pod : job.pods) {
    if (!has_rack_nvlink(*pod.facts)) return false;
    for (const FabricGpu& gpu : *pod.facts->gpus) {
      if (!gpu.fabric_cluster.empty()) racks.insert(gpu.fabric_cluster);
    }
    with += !off(pod, "NCCL_CUMEM_ENABLE") && !off(pod, "NCCL_MNNVL_ENABLE");
  }
  return racks.size() < 2 && with > 0 && with < job.pods.size();
}

void check_variables(FabricJob& job) {
  for (const char* name : kEqual) {
    const std::string values = difference(
        job, [&](const FabricPodState& pod) -> std::optional<std::string> {
          if (pod.mpi_only()) return std::nullopt;  // reads none of NCCL's
          return value_in(pod, name);
        });
    if (values.empty()) continue;
    const bool hangs = parts_a_rack(job, name);
    report(job, nullptr,
           {hangs ? Severity::kError : Severity::kWarning, "values_differ",
            std::string(name) +
                (hangs ? " differs between pods of one NVLink rack: those that "
                         "have it on wait there for the others"
                       : " differs between pods; both ends of a communicator "
                         "need the same value"),
            values, "set it in all pods or in none"});
  }
}

// NCCL takes processes with one host ID for one machine's: they look for each
// other in its memory (NVIDIA/nccl#879).
void check_host_ids(FabricJob& job) {
  std::map<std::string, std::vector<const FabricPodState*>> by_id;
  for (const FabricPodState& pod : job.pods) {
    const auto id = effective(*pod.facts, "NCCL_HOSTID");
    if (id) by_id[id->value].push_back(&pod);
  }
  for (const auto& [id, pods] : by_id) {
    if (pods.size() < 2) continue;
    std::set<std::string> nodes;
    for (const FabricPodState* pod : pods) nodes.insert(pod->facts->node);
    const bool known = !nodes.contains("");
    if (known && nodes.size() == 1) continue;
    report(job, nullptr,
           {known ? Severity::kError : Severity::kWarning, "lint_hostid",
            "NCCL_HOSTID=" + id + " is the same in " +
                std::to_string(pods.size()) + " pods" +
                (known ? " of different nodes" : "") +
                ": NCCL takes them for one machine, and fails where they are "
                "not",
            "NVIDIA/nccl#879", "remove it, or give each node its own"});
  }
}

void check_subnets(FabricJob& job) {
  if (job.transport != FabricTransport::kInfiniBand || job.pods.size() < 2)
    return;
  const std::string subnets = difference(
      job, [](const FabricPodState& pod) -> std::optional<std::string> {
        std::set<std::string> prefixes;
        for (const PortView& view : pod.ports) {
          if (!view.chosen || !view.port->gids || view.port->gids->empty()) {
            continue;
          }
          const std::string& gid = view.port->gids->front().gid;
          prefixes.insert(gid.substr(0, std::min<size_t>(19, gid.size())));
        }
        if (prefixes.size() != 1 || prefixes.begin()->starts_with("fe80")) {
          return std::nullopt;
        }
        return *prefixes.begin();
      });
  if (subnets.empty()) return;
  report(job, nullptr,
         {Severity::kWarning, "ib_subnets_differ",
          "the pods are on different InfiniBand subnets: they reach each other "
          "only through an InfiniBand router",
          subnets,
          "`muster fabric check` in the launcher's pod shows whether they do"});
}

// The family of the addresses that an index stands for in this pod; "" if the
// tables are unknown, or ports differ.
std::string family_at(const FabricPodState& pod, std::int64_t index) {
  std::set<std::string> families;
  for (const PortView& view : pod.ports) {
    if (!view.chosen) continue;
    if (!view.port->gids) return "";
    for (const FabricGid& gid : *view.port->gids) {
      if (gid.index != index) continue;
      const GidAddress kind = gid_address(gid);
      if (kind == GidAddress::kIpv4) families.insert("IPv4");
      if (kind == GidAddress::kIpv6) families.insert("IPv6");
    }
  }
  return families.size() == 1 ? *families.begin() : "";
}

// One index for all pods, whose tables differ: an adapter does not send from an
// address of one family to one of the other.
void check_gid_families(FabricJob& job) {
  if (job.transport != FabricTransport::kRoce) return;
  const std::string families = difference(
      job, [](const FabricPodState& pod) -> std::optional<std::string> {
        const auto index =
            parse_integer(trim(value_in(pod, "NCCL_IB_GID_INDEX")));
        if (!index || pod.mpi_only()) return std::nullopt;
        const std::string family = family_at(pod, *index);
        if (family.empty()) return std::nullopt;
        return family;
      });
  if (families.empty()) return;
  report(job, nullptr,
         {Severity::kWarning, "gid_families_differ",
          "NCCL_IB_GID_INDEX stands for addresses of different families "
          "(" +
              families + "): those pods do not reach each other",
          families,
          "remove it: NCCL since 2.21 finds the address in each pod, older "
          "ones need an index for each"});
}

}  // namespace

void check_agreement(FabricJob& job) {
  if (job.pods.size() < 2) return;
  check_versions(job);
  if (job.transport != FabricTransport::kTcp) check_plugins(job);
  check_variables(job);
  check_host_ids(job);
  check_subnets(job);
  check_gid_families(job);
}

}  // namespace muster
