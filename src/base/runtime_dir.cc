// SPDX-License-Identifier: Apache-2.0
#include "base/runtime_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

std::vector<std::string> writable_candidates() {
  std::vector<std::string> out;
  const char* tmpdir = std::getenv("TMPDIR");
  // A socket path holds at most 107 bytes; a long TMPDIR leaves no room.
  if (tmpdir != nullptr && tmpdir[0] == '/' &&
      std::string(tmpdir).size() < 48) {
    out.emplace_back(tmpdir);
  }
  out.emplace_back("/tmp");
  out.emplace_back("/dev/shm");
  return out;
}

namespace {

// By a file without a name: one with a name would stay where this process is
// killed before it can remove it. Not every file system has such files. With a
// byte in it: a full one still takes names.
bool takes_a_file(const std::string& directory) {
  const auto takes_a_byte = [](int fd) { return ::write(fd, "x", 1) == 1; };
  const UniqueFd nameless(
      ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (nameless) return takes_a_byte(nameless.get());
  if (errno != EOPNOTSUPP && errno != EISDIR) return false;
  std::string probe = directory + "/.muster-probe-XXXXXX";
  const UniqueFd named(::mkostemp(probe.data(), O_CLOEXEC));
  if (!named) return false;
  ::unlink(probe.c_str());
  return takes_a_byte(named.get());
}

}  // namespace

std::vector<std::string> writable_directories() {
  std::vector<std::string> out;
  for (const std::string& directory : writable_candidates()) {
    if (takes_a_file(directory)) out.push_back(directory);
  }
  return out;
}

Result<RuntimeDir> RuntimeDir::create(const std::string& name) {
  std::string tried;
  for (const std::string& directory : writable_candidates()) {
    const std::string path = directory + "/muster-" + name;
    struct stat info {};
    const bool ours = ::lstat(path.c_str(), &info) == 0 &&
                      S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
    if (ours || ::mkdir(path.c_str(), 0700) == 0) {
      if (takes_a_file(path)) {
        RuntimeDir out;
        out.path_ = path;
        return out;
      }
      if (!ours) ::rmdir(path.c_str());
    }
    tried += (tried.empty() ? "" : ", ") + directory;
  }
  return fail(Error{"no_writable_dir",
                    "no writable directory",
                    "tried " + tried,
                    {},
                    "mount an emptyDir at /tmp or set TMPDIR to one"});
}

RuntimeDir::RuntimeDir(RuntimeDir&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

RuntimeDir& RuntimeDir::operator=(RuntimeDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

RuntimeDir::~RuntimeDir() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace muster
