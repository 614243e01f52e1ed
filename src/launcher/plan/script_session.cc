// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/script_session.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/self_path.h"
#include "job/mpirun_rewrite.h"

namespace muster {

std::string to_json(const ScriptSession& session) {
  const nlohmann::json out = {{"hostfile", session.hostfile},
                              {"launcher", session.launcher},
                              {"options", session.options},
                              {"wrapper", session.wrapper},
                              {"search_paths", session.search_paths}};
  return out.dump();
}

Result<ScriptSession> script_session_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const Error bad{"protocol",
                  "cannot read the script's session",
                  "this version of muster did not write it",
                  {},
                  {}};
  if (!json.is_object()) return fail(bad);
  ScriptSession session;
  const auto strings = [&json](const char* name,
                               std::vector<std::string>& out) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_array()) return false;
    for (const auto& word : *found) {
      if (!word.is_string()) return false;
      out.push_back(word.get<std::string>());
    }
    return true;
  };
  const auto hostfile = json.find("hostfile");
  const auto launcher = json.find("launcher");
  if (hostfile == json.end() || !hostfile->is_string() ||
      launcher == json.end() || !launcher->is_number_unsigned() ||
      launcher->get<unsigned>() > kAnyLauncher ||
      !strings("options", session.options) ||
      !strings("wrapper", session.wrapper) ||
      !strings("search_paths", session.search_paths)) {
    return fail(bad);
  }
  session.hostfile = hostfile->get<std::string>();
  session.launcher = launcher->get<LauncherSet>();
  return session;
}

std::optional<ScriptSession> find_script_session() {
  const char* path = ::getenv("MUSTER_SCRIPT_SESSION");
  if (path == nullptr) return std::nullopt;
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  auto session = script_session_from_json(*text);
  if (!session) return std::nullopt;
  return std::move(*session);
}

Result<std::vector<std::string>> rewrite_for_script(
    const ScriptSession& session, const std::vector<std::string>& words) {
  auto line = parse_mpirun_line(words, session.launcher);
  if (!line) return fail(line.error());
  const char* path = ::getenv("PATH");
  Replacement replacement;
  replacement.program =
      find_foreign_program({words[0]}, path != nullptr ? path : "");
  replacement.launcher = session.launcher;
  replacement.hostfile = session.hostfile;
  replacement.options = session.options;
  replacement.wrapper = session.wrapper;
  if (replacement.program.empty()) {
    return fail(Error{"exe_not_found",
                      "cannot run " + words[0],
                      "no such program on PATH beside muster's own",
                      {},
                      {}});
  }
  auto rewritten = rewrite_mpirun_line(*line, replacement);
  if (!rewritten) return fail(rewritten.error());
  return std::move(rewritten->words);
}

}  // namespace muster
