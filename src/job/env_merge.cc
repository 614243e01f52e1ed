// SPDX-License-Identifier: Apache-2.0
// The list of variables that never travel, with a reason for each, and the
// merge. Pure.
#include "job/env_merge.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/service_link.h"
#include "job/rank_env.h"

namespace muster {

namespace {

struct Rule {
  std::string_view name;  // a trailing '*' means: every name so begun
  std::string_view reason;
};

constexpr std::string_view kPodIdentity = "names the launcher's own pod";
constexpr std::string_view kShellState = "state of the launcher's own shell";
constexpr std::string_view kImagePath = "a path of the launcher's own image";
constexpr std::string_view kLogin = "the user and home of the launcher's pod";
constexpr std::string_view kDevices = "devices differ from pod to pod";
constexpr std::string_view kTerminal = "ranks have no terminal";
constexpr std::string_view kService = "a service link that each pod has itself";

constexpr std::array kRules = {
    Rule{"HOSTNAME", kPodIdentity},
    Rule{"POD_IP", kPodIdentity},
    Rule{"POD_IPS", kPodIdentity},
    Rule{"POD_NAME", kPodIdentity},
    Rule{"POD_UID", kPodIdentity},
    Rule{"NODE_NAME", kPodIdentity},
    Rule{"NODE_IP", kPodIdentity},
    Rule{"HOST_IP", kPodIdentity},
    Rule{"JOB_COMPLETION_INDEX", kPodIdentity},
    Rule{"JOB_INDEX", kPodIdentity},
    Rule{"K_MPI_JOB_ROLE", kPodIdentity},
    Rule{"PWD", kShellState},
    Rule{"OLDPWD", kShellState},
    Rule{"SHLVL", kShellState},
    Rule{"_", kShellState},
    Rule{"SHELL", kShellState},
    Rule{"SSH_*", kShellState},
    Rule{"PATH", kImagePath},
    Rule{"LD_LIBRARY_PATH", kImagePath},
    Rule{"TMPDIR", kImagePath},
    Rule{"TMP", kImagePath},
    Rule{"TEMP", kImagePath},
    Rule{"XDG_RUNTIME_DIR", kImagePath},
    Rule{"HOME", kLogin},
    Rule{"USER", kLogin},
    Rule{"LOGNAME", kLogin},
    Rule{"MAIL", kLogin},
    Rule{"TERM", kTerminal},
    Rule{"COLUMNS", kTerminal},
    Rule{"LINES", kTerminal},
    Rule{"NVIDIA_*", kDevices},
    Rule{"CUDA_VISIBLE_DEVICES", kDevices},
    Rule{"HIP_VISIBLE_DEVICES", kDevices},
    Rule{"ROCR_VISIBLE_DEVICES", kDevices},
    Rule{"GPU_DEVICE_ORDINAL", kDevices},
    Rule{"ZE_AFFINITY_MASK", kDevices},
    Rule{"KUBERNETES_*", kService},
    Rule{"I_MPI_PERHOST", "read by mpirun, not by ranks"},
    Rule{"MUSTER_*", "a setting of muster itself"},
};

bool matches(const Rule& rule, std::string_view name) {
  if (!rule.name.ends_with('*')) return name == rule.name;
  return name.starts_with(rule.name.substr(0, rule.name.size() - 1));
}

// X_PORT_80_TCP, X_PORT_80_TCP_ADDR, …: "_PORT_", digits, "_", a protocol.
bool is_numbered_port(std::string_view name) {
  for (size_t at = name.find("_PORT_"); at != std::string_view::npos;
       at = name.find("_PORT_", at + 1)) {
    std::string_view rest = name.substr(at + 6);
    const size_t digits = rest.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos) continue;
    rest.remove_prefix(digits);
    for (const std::string_view protocol : {"_TCP", "_UDP", "_SCTP"}) {
      if (!rest.starts_with(protocol)) continue;
      const std::string_view tail = rest.substr(protocol.size());
      if (tail.empty() || tail == "_ADDR" || tail == "_PORT" ||
          tail == "_PROTO") {
        return true;
      }
    }
  }
  return false;
}

using Merged = std::map<std::string, EnvDecision>;

void put(Merged& merged, EnvDecision decision) {
  const auto found = merged.find(decision.name);
  if (found != merged.end() && found->second.value != decision.value) {
    decision.overridden = found->second.value;
    decision.overridden_source = found->second.source;
    decision.reason += ", which wins over the " +
                       std::string(env_source_name(found->second.source));
  }
  merged.insert_or_assign(decision.name, std::move(decision));
}

Finding unset_request(const std::string& name) {
  return {Severity::kWarning, "env_unset",
          "the command line passes on " + name +
              ", but neither the launcher's nor the worker's pod has it",
          "-x " + name,
          "set it in the launcher's container, or write " + name + "=VALUE"};
}

// "-x NAME" and "-x PREFIX*": the launcher's values.
void put_inherited(const EnvRequest& request, const Environment& launcher,
                   EnvMerge& merge, Merged& merged) {
  const bool wildcard = request.name.ends_with('*');
  const std::string_view prefix =
      std::string_view(request.name).substr(0, request.name.size() - 1);
  bool any = false;
  for (const auto& [name, value] : launcher) {
    const bool wanted = wildcard ? std::string_view(name).starts_with(prefix)
                                 : name == request.name;
    if (!wanted) continue;
    any = true;
    put(merged, {name,
                 value,
                 EnvSource::kCommandLine,
                 {},
                 {},
                 "the command line passes it on"});
  }
  if (!any && !wildcard && merged.count(request.name) == 0) {
    merge.findings.push_back(unset_request(request.name));
  }
}

}  // namespace

std::string_view env_source_name(EnvSource source) {
  switch (source) {
    case EnvSource::kWorker:
      return "worker pod";
    case EnvSource::kLauncher:
      return "launcher pod";
    case EnvSource::kCommandLine:
      return "command line";
  }
  return "";
}

bool is_service_link(std::string_view name, std::string_view value) {
  const size_t port = name.find("_SERVICE_PORT");
  if (port != std::string_view::npos) {
    const std::string_view rest = name.substr(port + 13);
    if (rest.empty() || rest[0] == '_') return true;
  }
  return name.ends_with("_SERVICE_HOST") || is_numbered_port(name) ||
         (name.ends_with("_PORT") && is_link_url(value));
}

const EnvDecision* EnvMerge::find(std::string_view name) const {
  const auto at =
      std::lower_bound(decisions.begin(), decisions.end(), name,
                       [](const EnvDecision& one, std::string_view wanted) {
                         return one.name < wanted;
                       });
  return at != decisions.end() && at->name == name ? &*at : nullptr;
}

std::optional<std::string> why_not_travel(std::string_view name,
                                          std::string_view value) {
  for (const Rule& rule : kRules) {
    if (matches(rule, name)) return std::string(rule.reason);
  }
  if (names_a_rank(name)) return "each rank has its own";
  if (is_launcher_leftover(name)) {
    return "belongs to the launcher's own mpirun or batch system";
  }
  if (is_service_link(name, value)) return std::string(kService);
  return std::nullopt;
}

EnvMerge merge_environment(const Environment& worker,
                           const Environment& launcher,
                           const std::vector<EnvRequest>& command_line) {
  EnvMerge merge;
  Merged merged;
  // Services of a namespace may make tens of thousands of variables.
  std::unordered_map<std::string_view, std::string_view> of_worker;
  for (const auto& [name, value] : worker) {
    of_worker.emplace(name, value);
    if (names_a_rank(name)) continue;
    if (name == "MASTER_PORT" && is_service_link(name, value)) continue;
    put(merged,
        {name, value, EnvSource::kWorker, {}, {}, "the worker pod has it"});
  }
  for (const auto& [name, value] : launcher) {
    if (const auto reason = why_not_travel(name, value)) {
      const auto own = merged.find(name);
      if (own == merged.end() || own->second.value == value) continue;
      own->second.reason +=
          "; the launcher's differs and stays there: " + *reason;
      continue;
    }
    put(merged,
        {name, value, EnvSource::kLauncher, {}, {}, "the launcher pod has it"});
  }
  for (const EnvRequest& request : command_line) {
    if (!request.value) {
      put_inherited(request, launcher, merge, merged);
      continue;
    }
    put(merged, {request.name,
                 *request.value,
                 EnvSource::kCommandLine,
                 {},
                 {},
                 "the command line sets it"});
  }
  for (auto& [name, decision] : merged) {
    const auto own = of_worker.find(name);
    if (decision.source != EnvSource::kWorker &&
        (own == of_worker.end() || own->second != decision.value ||
         names_a_rank(name))) {
      merge.to_set.emplace_back(name, decision.value);
    }
    merge.decisions.push_back(std::move(decision));
  }
  return merge;
}

}  // namespace muster
