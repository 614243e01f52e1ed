// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/facts_question.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "job/env_merge.h"

namespace muster {

namespace {

// They choose interpreters, packages and libraries, or name a file that a pod
// must have.
bool chooses_libraries(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "NCCL_TOPO_FILE", "PATH",        "LD_LIBRARY_PATH", "LD_PRELOAD",
      "PYTHONPATH",     "PYTHONHOME",  "PYTHONUSERBASE",  "PYTHONNOUSERSITE",
      "VIRTUAL_ENV",    "CONDA_PREFIX"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

void add(const std::vector<EnvRequest>& requests, const Environment& given,
         Environment& out) {
  for (const EnvRequest& request : requests) {
    if (!chooses_libraries(request.name)) continue;
    if (request.value) {
      set_env(out, request.name, *request.value);
    } else if (const std::string* value = find_env(given, request.name)) {
      set_env(out, request.name, *value);
    }
  }
}

}  // namespace

wire::FactsRequest facts_request(const LaunchOptions& options,
                                 const Discovery& discovery) {
  wire::FactsRequest out;
  out.mpirun = discovery.mpirun;
  for (const auto& [name, value] : discovery.env) {
    if (chooses_libraries(name) && !why_not_travel(name, value)) {
      out.env.emplace_back(name, value);
    }
  }
  add(options.env, discovery.env, out.env);
  out.argv = options.command;
  out.cwd = options.cwd;
  if (discovery.line) {
    add(discovery.line->env, discovery.env, out.env);
    out.argv.clear();
    if (!discovery.line->apps.empty()) {
      const MpirunApp& app = discovery.line->apps.front();
      add(app.env, discovery.env, out.env);
      out.argv = app.argv;
      if (!app.directory.empty()) out.cwd = app.directory;
    }
  }
  std::error_code removed;  // then there is none
  const auto here = std::filesystem::current_path(removed);
  if (!out.cwd.starts_with('/')) out.cwd = (here / out.cwd).string();
  return out;
}

}  // namespace muster
