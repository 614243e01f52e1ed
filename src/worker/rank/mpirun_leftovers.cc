// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/mpirun_leftovers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/hostname.h"

namespace muster {

namespace {

std::string temporary_directory(const Environment& env) {
  for (const char* name :
       {"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"}) {
    const std::string* value = find_env(env, name);
    if (value != nullptr && !value->empty()) return *value;
  }
  return "/tmp";
}

bool is_own_directory(const std::string& path, uid_t user) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == user;
}

}  // namespace

std::vector<std::string> mpirun_sessions(const Environment& env,
                                         const std::string& host, uid_t user,
                                         pid_t pid) {
  const std::string base = temporary_directory(env) + "/";
  std::vector<std::string> names = {host};
  if (const auto dot = host.find('.'); dot != std::string::npos) {
    names.push_back(host.substr(0, dot));
  }
  std::vector<std::string> out;
  for (const std::string& name : names) {
    out.push_back(base + "ompi." + name + "." + std::to_string(user) + "/pid." +
                  std::to_string(pid));
    out.push_back(base + "prterun." + name + "." + std::to_string(pid) + "." +
                  std::to_string(user));
  }
  return out;
}

void remove_mpirun_sessions(const Environment& env, pid_t pid) {
  const std::string host = own_hostname();
  if (host.empty()) return;
  const uid_t user = ::geteuid();
  for (const std::string& path : mpirun_sessions(env, host, user, pid)) {
    const std::filesystem::path parent =
        std::filesystem::path(path).parent_path();
    const bool nested = path.find("/pid.") != std::string::npos;
    if (nested && !is_own_directory(parent, user)) continue;
    if (!is_own_directory(path, user)) continue;
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    // The user's, of all mpiruns on this host: it stays while one lives.
    if (nested) std::filesystem::remove(parent, ignored);
  }
}

}  // namespace muster
