// SPDX-License-Identifier: Apache-2.0
// How an mpirun inside a script under `muster launch --once` becomes ours: the
// launcher leaves the hostfile and what to add to a line in files of its run
// directory, and names the latter file in MUSTER_SCRIPT_SESSION. The launcher
// stays up and serves the relay's socket.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "job/mpirun_options.h"

namespace muster {

constexpr const char* kScriptSessionFile = "script-session.json";

struct ScriptSession {
  std::string hostfile;
  LauncherSet launcher = 0;
  std::vector<std::string> options;
  std::vector<std::string> wrapper;
  std::vector<std::string> search_paths;  // PATHs of the pods with ranks
};

std::string to_json(const ScriptSession& session);
Result<ScriptSession> script_session_from_json(const std::string& text);

// nullopt: this process does not run under such a script.
std::optional<ScriptSession> find_script_session();

// The whole line to exec; its first word is the real mpirun.
Result<std::vector<std::string>> rewrite_for_script(
    const ScriptSession& session, const std::vector<std::string>& words);

}  // namespace muster
