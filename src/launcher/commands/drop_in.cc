// SPDX-License-Identifier: Apache-2.0
#include "launcher/commands/drop_in.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/self_path.h"
#include "base/spawn.h"
#include "job/launcher_socket.h"
#include "job/mpirun_line.h"
#include "job/output_files.h"
#include "job/pod_view.h"
#include "job/rank_env.h"
#include "launcher/commands/launch_main.h"
#include "launcher/commands/launch_options.h"
#include "launcher/plan/mpirun_request.h"
#include "launcher/plan/script_session.h"

namespace muster {

namespace {

constexpr int kRefused = 2;

std::string own_environment(const char* name) {
  const char* value = ::getenv(name);
  return value != nullptr ? value : "";
}

// `called`: its argv[0].
int exec_real(const std::string& path, const std::string& called,
              const std::vector<std::string>& args) {
  if (path.empty()) {
    std::fprintf(stderr,
                 "muster: cannot run %s: no such program on PATH beside "
                 "muster's own. Install an MPI in this image.\n",
                 called.c_str());
    return 127;
  }
  std::vector<char*> argv = {const_cast<char*>(called.c_str())};
  for (const std::string& word : args) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  std::fprintf(stderr, "muster: cannot run %s: %s\n", path.c_str(),
               strerror(errno));
  return 126;
}

// The MPI has not been asked which it is, and both may lie in one directory.
LauncherSet launcher_of(const std::string& path) {
  std::error_code error;
  const auto file = std::filesystem::canonical(path, error).filename().string();
  if (file.find("hydra") != std::string::npos) return kHydraLauncher;
  return file == "mpirun_rsh" ? kMpirunRshLauncher : kOpenMpiLauncher;
}

// For a line that stays on this machine: daemons are not looked for.
std::string called_here(const std::string& word, const std::string& path) {
  return mpirun_called(word, path, launcher_of(path), {});
}

// The script's output was in the launcher's hands before this line was known.
void tell_no_files(const std::vector<std::string>& words) {
  const auto line = parse_mpirun_line(words);
  if (!line || output_files(*line).directory.empty()) return;
  std::fprintf(stderr,
               "muster: the files of each rank that this %s line asks for are "
               "not written: start the script with `muster launch --once "
               "--log-dir %s -- SCRIPT`\n",
               words[0].c_str(), output_files(*line).directory.c_str());
}

bool has_hosts_elsewhere(const MpirunLine& line) {
  if (!line.hosts.empty() || !line.hostfiles.empty()) return true;
  for (const MpirunApp& app : line.apps) {
    if (!app.hosts.empty()) return true;
  }
  const Contract contract = decide_contract(read_pod_view(own_pod_options()));
  return contract.hostfile.has_value() || !contract.hostfile_path.empty();
}

}  // namespace

std::optional<int> print_information(const std::vector<std::string>& command) {
  const auto line = parse_mpirun_line(command);
  if (!line || !line->information) return std::nullopt;
  const std::string& program = command[0];
  const bool by_path = program.find('/') != std::string::npos;
  const std::string path =
      by_path ? program
              : find_foreign_program({program}, own_environment("PATH"));
  return exec_real(path, called_here(program, path),
                   {command.begin() + 1, command.end()});
}

int drop_in_main(const std::string& name,
                 const std::vector<std::string>& args) {
  const std::string real =
      find_foreign_program({name}, own_environment("PATH"));
  std::vector<std::string> words = {name};
  words.insert(words.end(), args.begin(), args.end());
  if (!own_environment("MUSTER_RANK").empty()) {
    std::fprintf(stderr,
                 "muster: %s inside rank %s: a rank cannot start another MPI "
                 "job on the same workers. Call the program itself, or start "
                 "the whole script with `muster launch --once -- SCRIPT`.\n",
                 name.c_str(), own_environment("MUSTER_RANK").c_str());
    return kRefused;
  }
  if (const auto printed = print_information(words)) return *printed;
  if (const auto session = find_script_session()) {
    tell_no_files(words);
    auto rewritten = rewrite_for_script(*session, words);
    if (!rewritten) {
      std::fprintf(stderr, "muster: %s\n", rewritten.error().text().c_str());
      return kRefused;
    }
    for (const auto& [variable, value] : current_environment()) {
      if (names_a_rank(variable)) ::unsetenv(variable.c_str());
    }
    ::unsetenv("MUSTER_SCRIPT_SESSION");  // its own calls are done, see below
    const std::string program = (*rewritten)[0];
    rewritten->erase(rewritten->begin());
    return exec_real(
        program,
        mpirun_called(name, program, session->launcher, session->search_paths),
        *rewritten);
  }
  // Started by the mpirun of this launch, as Intel MPI's mpirun, a script,
  // starts mpiexec.hydra: the line has all that is ours already.
  if (has_launcher_socket()) {
    return exec_real(real, called_here(name, real), args);
  }
  const auto line = parse_mpirun_line(words);
  if (line && !has_hosts_elsewhere(*line)) {
    return exec_real(real, called_here(name, real), args);
  }
  std::vector<std::string> launch_args = {"--"};
  launch_args.insert(launch_args.end(), words.begin(), words.end());
  ParsedOptions parsed = parse_launch_options(launch_args);
  if (parsed.exit_code) return *parsed.exit_code;
  parsed.options.drop_in = true;
  return launch(std::move(parsed.options));
}

}  // namespace muster
