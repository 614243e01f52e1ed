// SPDX-License-Identifier: Apache-2.0
#include "base/self_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <filesystem>

#include "base/text.h"

namespace muster {

std::string self_path() {
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

Result<std::string> agent_path_for(const std::string& self) {
  const std::string directory = self.substr(0, self.rfind('/'));
  for (const char* place : {"/", "/../libexec/muster/", "/../worker/",
                            "/src/worker/", "/../../../src/worker/"}) {
    const std::string path = directory + place + "muster-agent";
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(path.c_str(), X_OK) == 0) {
      std::error_code error;
      const auto real = std::filesystem::canonical(path, error);
      return error ? path : real.string();
    }
  }
  return fail(Error{"agent_missing", "muster-agent is missing",
                    "neither beside it nor in ../libexec/muster", self,
                    "copy the whole installation into the image"});
}

Result<std::string> agent_path() { return agent_path_for(self_path()); }

std::string muster_path() {
  const std::string self = self_path();
  const std::string directory = self.substr(0, self.rfind('/'));
  for (const char* place : {"/", "/../../bin/", "/../cli/"}) {
    const std::string path = directory + place + "muster";
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) return path;
  }
  return "muster";
}

std::string drop_in_directory() {
  const std::string self = self_path();
  const std::filesystem::path path =
      std::filesystem::path(self).parent_path().parent_path() / "dropin" /
      "bin";
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path.string() : "";
}

namespace {

// An mpirun looks for its daemons beside the name of its call. If that is a
// link from another directory (/usr/local/bin/mpirun), it finds none.
bool has_mpi_daemons(const std::filesystem::path& directory) {
  std::error_code error;
  for (const char* name : {"orted", "prted", "hydra_pmi_proxy"}) {
    if (std::filesystem::exists(directory / name, error)) return true;
  }
  return false;
}

}  // namespace

std::string find_foreign_program(const std::vector<std::string>& names,
                                 const std::string& search_path) {
  for (const auto directory : split(search_path, ':')) {
    if (directory.empty()) continue;
    for (const std::string& name : names) {
      const std::string path = std::string(directory) + "/" + name;
      if (::access(path.c_str(), X_OK) != 0) continue;
      std::error_code error;
      const auto real = std::filesystem::canonical(path, error);
      if (error || std::filesystem::is_directory(real, error)) continue;
      if (real.filename().string().starts_with("muster")) continue;
      const bool linked = !has_mpi_daemons(std::string(directory)) &&
                          has_mpi_daemons(real.parent_path());
      return linked ? real.string() : path;
    }
  }
  return "";
}

std::string foreign_sshd(const std::string& root) {
  std::error_code error;
  const auto path = std::filesystem::canonical(root + "/usr/sbin/sshd", error);
  if (error || path.filename() == "muster") return "";
  return path.string().substr(root.size());
}

}  // namespace muster
