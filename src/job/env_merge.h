// SPDX-License-Identifier: Apache-2.0
// The variables of a rank on one worker, with their origins: worker pod's own <
// launcher pod's < command line. Variables of one pod (its name, its GPUs, its
// paths, its launcher) never travel by themselves; the command line may name
// any. Nor do variables that give a process's rank. Values are bytes and stay
// as they are. Pure; the caller prints, and masks secrets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/spawn.h"
#include "job/env_request.h"
#include "job/finding.h"

namespace muster {

enum class EnvSource { kWorker, kLauncher, kCommandLine };
std::string_view env_source_name(EnvSource source);

struct EnvDecision {
  std::string name;
  std::string value;  // what the rank sees
  EnvSource source = EnvSource::kWorker;
  // A losing value and its origin.
  std::optional<std::string> overridden;
  EnvSource overridden_source = EnvSource::kWorker;
  std::string reason;
};

struct EnvMerge {
  std::vector<EnvDecision> decisions;  // sorted by name
  Environment to_set;                  // on top of the worker's own environment
  std::vector<Finding> findings;

  // Null: ranks do not have this variable.
  [[nodiscard]] const EnvDecision* find(std::string_view name) const;
};

EnvMerge merge_environment(const Environment& worker,
                           const Environment& launcher,
                           const std::vector<EnvRequest>& command_line);

// Why a variable of the launcher pod stays there; nullopt: it travels.
// Recognises Kubernetes' service links by their shape: X_PORT only with a value
// like tcp://10.0.0.1:80, so that MASTER_PORT=29500 travels.
std::optional<std::string> why_not_travel(std::string_view name,
                                          std::string_view value);
bool is_service_link(std::string_view name, std::string_view value);

}  // namespace muster
