// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/launch_environment.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "job/rank_env.h"
#include "launcher/plan/script_session.h"

namespace muster {

namespace {

// Index of each planned node among those that run ranks: NODE_RANK.
std::vector<int> node_ranks(const Plan& plan) {
  std::vector<int> out;
  int next = 0;
  for (const PlannedNode& node : plan.nodes) {
    out.push_back(node.ranks.empty() ? -1 : next++);
  }
  return out;
}

void apply(Environment& env, const std::vector<EnvRequest>& requests,
           const Environment& given) {
  for (const EnvRequest& request : requests) {
    if (request.value) {
      set_env(env, request.name, *request.value);
    } else if (const std::string* value = find_env(given, request.name)) {
      set_env(env, request.name, *value);
    }
  }
}

// Emulated nodes share one host name, /tmp and /dev/shm. Each gets a place of
// its own for files; Open MPI takes ranks of one host name for neighbours, and
// its shared memory then crashes: they talk over loopback, as pods over a net.
void keep_apart(Environment& env, const std::string& directory) {
  set_env(env, "TMPDIR", directory);
  for (const auto& [name, value] :
       {std::pair{"OMPI_MCA_btl", "self,tcp"}, std::pair{"OMPI_MCA_pml", "ob1"},
        std::pair{"OMPI_MCA_btl_tcp_if_include", "lo"}}) {
    if (find_env(env, name) == nullptr) set_env(env, name, value);
  }
}

// By fleet node and local rank: CPUs, GPUs and what is near.
std::vector<std::vector<Environment>> places(
    const Agreement& agreement, const std::vector<uint16_t>& node_of_host) {
  std::vector<std::vector<Environment>> out(agreement.env.size());
  for (const PlannedRank& rank : agreement.plan.ranks) {
    auto& here = out[node_of_host[static_cast<size_t>(rank.node)]];
    here.resize(
        std::max(here.size(), static_cast<size_t>(rank.local_rank) + 1));
    here[static_cast<size_t>(rank.local_rank)] =
        binding_variables(agreement.binding, rank);
  }
  return out;
}

// As the user would recognize it; empty: nothing that muster has to do.
std::string placement_asked(const Agreement& agreement,
                            const LaunchOptions& options) {
  std::vector<std::string> parts;
  if (!options.bind_to.empty() && options.bind_to != "none" &&
      !agreement.binding.by_mpi) {
    parts.push_back("--bind-to " + options.bind_to);
  }
  if (!options.gpu_bind.empty() && options.gpu_bind != "none") {
    parts.push_back("--gpu-bind " + options.gpu_bind);
  }
  return join(parts, ", ");
}

}  // namespace

std::string local_node_directory(const std::string& run_directory,
                                 size_t node) {
  return run_directory + "/node" + std::to_string(node);
}

std::vector<NativeRank> native_ranks(const Agreement& agreement,
                                     const std::vector<uint16_t>& node_of_host,
                                     const LaunchOptions& options) {
  std::vector<NativeRank> out;
  const std::vector<int> order = node_ranks(agreement.plan);
  for (const PlannedRank& planned : agreement.plan.ranks) {
    const auto host = static_cast<size_t>(planned.node);
    NativeRank rank;
    rank.rank = planned.rank;
    rank.node = node_of_host[host];
    rank.argv = planned.argv;
    const AppSpec& app = agreement.apps[static_cast<size_t>(planned.app)];
    rank.cwd = app.cwd.empty() ? options.cwd : app.cwd;
    rank.env = agreement.env[rank.node].to_set;
    rank.unset = agreement.unset[rank.node];
    apply(rank.env, options.env, rank.env);
    apply(rank.env, app.env, rank.env);
    RankPosition position;
    position.rank = planned.rank;
    position.size = static_cast<int>(agreement.plan.ranks.size());
    position.local_rank = planned.local_rank;
    position.local_size =
        static_cast<int>(agreement.plan.nodes[host].ranks.size());
    position.node = order[host];
    const EnvMerge& known = agreement.env[rank.node];
    if (known.find("MASTER_ADDR") == nullptr) {
      position.master_addr = agreement.meeting.address;
    }
    if (known.find("MASTER_PORT") == nullptr) {
      position.master_port = agreement.meeting.port;
    }
    for (auto& [name, value] : rank_environment(position, rank.env)) {
      set_env(rank.env, name, std::move(value));
    }
    if (!agreement.binding.bound.empty()) {
      rank.cpus = agreement.binding.of(planned).cpus;
      for (auto& [name, value] :
           binding_variables(agreement.binding, planned)) {
        set_env(rank.env, name, std::move(value));
      }
    }
    out.push_back(std::move(rank));
  }
  return out;
}

MpirunPlan mpirun_plan(const Agreement& agreement,
                       const std::vector<uint16_t>& node_of_host,
                       const LaunchOptions& options,
                       const std::string& run_directory,
                       const std::string& script_path) {
  MpirunPlan plan;
  plan.argv = options.once ? options.command : agreement.words;
  if (!options.once && !plan.argv.empty()) {
    plan.program = std::exchange(plan.argv[0], agreement.called);
  }
  plan.source = options.once ? "script" : "mpirun";
  plan.socket_path = run_directory + "/launcher.sock";
  plan.unset = agreement.mpi.unset;
  // A script may well want what its pod says; its mpirun does not (drop_in.cc).
  for (const std::string& name : agreement.unset[0]) {
    if (!options.once && (names_a_rank(name) || name == "MASTER_PORT")) {
      plan.unset.push_back(name);
    }
  }
  // Ranks on the launcher's own host are mpirun's children, not a daemon's.
  plan.env = agreement.env[0].to_set;
  for (const auto& [name, value] : agreement.mpi.env) {
    set_env(plan.env, name, value);
  }
  plan.env.emplace_back("MUSTER_LAUNCHER_SOCKET", plan.socket_path);
  if (options.once) {
    set_env(plan.env, "MUSTER_SCRIPT_SESSION",
            run_directory + "/" + kScriptSessionFile);
    set_env(plan.env, "PATH", script_path);
  }
  plan.local_rank_env = places(agreement, node_of_host);
  plan.placement = placement_asked(agreement, options);
  plan.wants_stdin = options.stdin_mode != StdinMode::kNone;
  // One emulated node is this machine: its ranks may share memory.
  const bool apart = options.local && options.local->nodes > 1;
  if (apart) {
    keep_apart(plan.env, local_node_directory(run_directory, 0));
  } else if (options.local) {
    set_env(plan.env, "TMPDIR", local_node_directory(run_directory, 0));
  }
  const std::vector<int> order = node_ranks(agreement.plan);
  for (size_t node = 0; node < agreement.env.size(); ++node) {
    Environment env = agreement.env[node].to_set;
    for (const auto& [name, value] : agreement.mpi.daemon_env) {
      set_env(env, name, value);
    }
    if (apart) keep_apart(env, local_node_directory(run_directory, node));
    plan.node_env.push_back(std::move(env));
    plan.node_unset.push_back(agreement.unset[node]);
    Environment told = {{"MASTER_ADDR", agreement.meeting.address},
                        {"MASTER_PORT", agreement.meeting.port}};
    for (size_t host = 0; host < node_of_host.size(); ++host) {
      if (node_of_host[host] == node && order[host] >= 0) {
        told.emplace_back("NODE_RANK", std::to_string(order[host]));
        told.emplace_back("GROUP_RANK", std::to_string(order[host]));
      }
    }
    plan.rank_env.push_back(std::move(told));
  }
  return plan;
}

}  // namespace muster
