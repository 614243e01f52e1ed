// SPDX-License-Identifier: Apache-2.0
#include "job/workload.h"

#include <array>

#include "base/text.h"

namespace muster {

namespace {

struct Row {
  std::string_view manager;
  std::string_view mark;  // is set there and nowhere else
  std::string_view index;
  std::string_view size;
  std::string_view local_index;
  bool starts_ranks;
};

// torchrun first: it may itself run under Slurm or in an Indexed Job.
constexpr std::array<Row, 6> kRows = {{
    {"torchrun", "TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK",
     true},
    {"slurm", "SLURM_PROCID", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID",
     true},
    {"flux", "FLUX_TASK_RANK", "FLUX_TASK_RANK", "FLUX_JOB_SIZE",
     "FLUX_TASK_LOCAL_ID", true},
    {"lws", "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "",
     false},
    {"volcano", "VC_TASK_INDEX", "VC_TASK_INDEX", "", "", false},
    {"indexed job", "JOB_COMPLETION_INDEX", "JOB_COMPLETION_INDEX", "", "",
     false},
}};
constexpr int kMostPods = 100'000;

int number_of(const Environment& env, std::string_view name) {
  const std::string* text = name.empty() ? nullptr : find_env(env, name);
  const auto number = text != nullptr ? parse_integer(*text) : std::nullopt;
  if (!number || *number < 0 || *number > kMostPods) return -1;
  return static_cast<int>(*number);
}

// "mpi-0.mpi.default" and 4 -> mpi-0-1.mpi.default to mpi-0-3.mpi.default.
std::vector<HostEntry> hosts_of_group(const std::string& leader, int size) {
  std::vector<HostEntry> hosts;
  const size_t dot = leader.find('.');
  const std::string rest = dot == std::string::npos ? "" : leader.substr(dot);
  for (int i = 1; i < size; ++i) {
    HostEntry host;
    host.name = leader.substr(0, dot) + "-" + std::to_string(i) + rest;
    host.line = i;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace

Workload detect_workload(const Environment& env) {
  for (const Row& row : kRows) {
    const std::string* mark = find_env(env, row.mark);
    if (mark == nullptr || mark->empty()) continue;
    return {std::string(row.manager), row.starts_ranks,
            number_of(env, row.index), number_of(env, row.size),
            number_of(env, row.local_index)};
  }
  return {};
}

std::vector<HostEntry> workload_hosts(const Environment& env) {
  const Workload workload = detect_workload(env);
  if (workload.manager == "lws") {
    return hosts_of_group(*find_env(env, "LWS_LEADER_ADDRESS"), workload.size);
  }
  if (workload.manager != "volcano") return {};
  // The task's name is the user's; these are the ones that examples use.
  for (const char* name :
       {"VC_WORKER_HOSTS", "VC_MPIWORKER_HOSTS", "VC_NODE_HOSTS"}) {
    const std::string* list = find_env(env, name);
    if (list == nullptr) continue;
    auto hosts = parse_host_list(*list, name);
    if (hosts) return std::move(hosts->hosts);
  }
  return {};
}

}  // namespace muster
