// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/facts_question.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "fabric/facts/named_files.h"
#include "job/env_merge.h"

namespace muster {

namespace {

// They choose interpreters, packages and libraries, or name a file that a pod
// must have.
bool chooses_libraries(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "PATH",           "LD_LIBRARY_PATH",  "PYTHONPATH",  "PYTHONHOME",
      "PYTHONUSERBASE", "PYTHONNOUSERSITE", "VIRTUAL_ENV", "CONDA_PREFIX"};
  return names_files(name) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
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

// On one machine without a profile only the user's variables are checked, for
// which the kernel's files are enough. A bundle is to have all.
bool needs_drivers(const LaunchOptions& options) {
  return !options.local || options.profile != "auto" ||
         !options.bundle_directory.empty();
}

}  // namespace

wire::FactsRequest facts_request(const LaunchOptions& options,
                                 const Discovery& discovery) {
  wire::FactsRequest out;
  out.mpirun = discovery.mpirun;
  out.drivers = needs_drivers(options);
  wire::FactsProgram& first = out.first;
  for (const auto& [name, value] : discovery.env) {
    if (chooses_libraries(name) && !why_not_travel(name, value)) {
      first.env.emplace_back(name, value);
    }
  }
  add(options.env, discovery.env, first.env);
  first.argv = options.command;
  first.cwd = options.cwd;
  if (discovery.line) {
    add(discovery.line->env, discovery.env, first.env);
    first.argv.clear();
    const wire::FactsProgram alike = first;
    for (const MpirunApp& app : discovery.line->apps) {
      wire::FactsProgram program = alike;
      add(app.env, discovery.env, program.env);
      program.argv = app.argv;
      if (!app.directory.empty()) program.cwd = app.directory;
      out.more.push_back(std::move(program));
    }
    if (!out.more.empty()) {
      first = std::move(out.more.front());
      out.more.erase(out.more.begin());
    }
  }
  std::error_code removed;  // then there is none
  const auto here = std::filesystem::current_path(removed);
  const auto make_whole = [&here](wire::FactsProgram& program) {
    if (!program.cwd.starts_with('/')) {
      program.cwd = (here / program.cwd).string();
    }
  };
  make_whole(first);
  for (wire::FactsProgram& program : out.more) make_whole(program);
  return out;
}

}  // namespace muster
