// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/job_request.h"

#include <algorithm>
#include <utility>

#include "job/line_hosts.h"
#include "job/line_placement.h"
#include "job/mpi_parameters.h"
#include "job/native_line.h"
#include "launcher/plan/placement_words.h"

namespace muster {

namespace {

// What `requests` come to in the launcher's environment.
std::vector<EnvRequest> with_values(const std::vector<EnvRequest>& requests,
                                    const Environment& launcher) {
  std::vector<EnvRequest> out;
  for (const EnvRequest& request : requests) {
    if (request.value) out.push_back(request);
    const bool prefix = request.name.ends_with('*');
    const auto stem = request.name.substr(0, request.name.size() - prefix);
    for (const auto& [name, value] : launcher) {
      if (request.value) break;
      if (prefix ? name.starts_with(stem) : name == stem) {
        out.push_back({name, value});
      }
    }
  }
  return out;
}

// Before the MPI was known its line may have been read as Open MPI's, where a
// list of hosts is of the program that it stands with.
bool is_of_all(const MpirunLine& line, const std::string& family) {
  const bool hydra = family == "mpich" || family == "mvapich";
  return hydra && std::count_if(line.apps.begin(), line.apps.end(),
                                [](const MpirunApp& app) {
                                  return !app.hosts.empty();
                                }) == 1;
}

Result<std::vector<AppSpec>> programs_of(const MpirunLine& line,
                                         const JobSpec& spec,
                                         const Environment& launcher,
                                         const std::string& family) {
  std::vector<AppSpec> out;
  const bool of_all = is_of_all(line, family);
  const Environment parameters = native_line(line).env;
  for (const MpirunApp& app : line.apps) {
    std::vector<EnvRequest> env;
    for (const auto& [name, value] : parameters) env.push_back({name, value});
    env.insert(env.end(), line.env.begin(), line.env.end());
    env.insert(env.end(), app.env.begin(), app.env.end());
    auto places = of_all ? Result<std::vector<AppHost>>({})
                         : own_places(line, app, spec.hosts);
    if (!places) return fail(places.error());
    out.push_back({app.argv, app.np, with_values(env, launcher), app.directory,
                   std::move(*places)});
  }
  return out;
}

}  // namespace

Result<JobSpec> job_spec(const LaunchOptions& options,
                         const Discovery& discovery,
                         const std::string& family) {
  JobSpec spec;
  for (const JobHost& host : discovery.hosts) spec.hosts.push_back(host.entry);
  spec.np = options.np;
  spec.env = options.env;
  spec.oversubscribe = options.oversubscribe;
  std::string map_by = options.map_by;
  if (discovery.line) {
    const MpirunLine& line = *discovery.line;
    if (!own_mapping(line).empty()) map_by.clear();
    if (line.np) spec.np = line.np;
    spec.oversubscribe |= line.oversubscribe;
    spec.in_turns = !family.empty() && family != "openmpi";
    if (line.per_node) {
      map_by = "ppr:" + std::to_string(*line.per_node) + ":node";
    } else if (line.by_node || line.map_by.starts_with("node")) {
      map_by = "node";
    }
    auto programs = programs_of(line, spec, discovery.env, family);
    if (!programs) return fail(programs.error());
    spec.apps = std::move(*programs);
  } else {
    spec.oversubscribe |= allow_oversubscription(discovery.parameters);
    spec.apps.push_back({options.command, options.np, {}, options.cwd});
  }
  if (auto set = set_map_by(map_by, spec); !set) return fail(set.error());
  return spec;
}

}  // namespace muster
