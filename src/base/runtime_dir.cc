// SPDX-License-Identifier: Apache-2.0
#include "base/runtime_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/directory.h"
#include "base/fd.h"

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

// 0, or why `directory` takes no file, or none that can be locked: a file
// system without flock (NFS, Lustre, some of FUSE) takes files all the same.
// Tries a file without a name: one with a name would stay if this process is
// killed before it removes it. Not every file system has such files. With a
// byte in it: a full one still takes names.
int file_error(const std::string& directory, bool lock) {
  const auto try_out = [lock](int fd) {
    errno = ENOSPC;
    if (::write(fd, "x", 1) != 1) return errno;
    return lock && ::flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
  };
  const UniqueFd nameless(
      ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (nameless) return try_out(nameless.get());
  if (errno != EOPNOTSUPP && errno != EISDIR) return errno;
  std::string probe = directory + "/.muster-probe-XXXXXX";
  const UniqueFd named(::mkostemp(probe.data(), O_CLOEXEC));
  if (!named) return errno;
  ::unlink(probe.c_str());
  return try_out(named.get());
}

constexpr const char* kOwner = "/owner";

}  // namespace

bool is_own_directory(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid();
}

std::vector<std::string> writable_directories() {
  std::vector<std::string> out;
  for (const std::string& directory : writable_candidates()) {
    if (file_error(directory, false) == 0) out.push_back(directory);
  }
  return out;
}

namespace {

// The reason why `path` cannot be our runtime directory; "": it can.
std::string unsuited(const std::string& path, int made) {
  struct stat info {};
  if (made == EEXIST && ::lstat(path.c_str(), &info) == 0) {
    return path + " belongs to user " + std::to_string(info.st_uid) +
           ": remove it";
  }
  if (made != 0) return strerror(made);
  const int locked = file_error(path, true);
  if (locked == 0) return "";
  return file_error(path, false) == 0
             ? std::string("its files cannot be locked, flock: ") +
                   strerror(locked)
             : strerror(locked);
}

// If another user owns a directory of the name, perhaps to block ours, ours
// stands beside it, with random letters at the end of its name. All processes
// find the first of these. Empty: errno says why not.
std::string beside_foreign(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = path.substr(0, slash);
  const std::string prefix = path.substr(slash + 1) + ".";
  const auto first_own = [&] {
    std::string first;
    for (const std::string& name : names_in(directory)) {
      if (!name.starts_with(prefix) || (!first.empty() && name > first) ||
          !is_own_directory(directory + "/" + name)) {
        continue;
      }
      first = name;
    }
    return first.empty() ? first : directory + "/" + first;
  };
  if (const std::string known = first_own(); !known.empty()) return known;
  std::string made = path + ".XXXXXX";
  if (::mkdtemp(made.data()) == nullptr) return "";
  const std::string first = first_own();
  if (first.empty() || first == made) return made;
  ::rmdir(made.c_str());
  return first;
}

}  // namespace

Result<RuntimeDir> RuntimeDir::create(const std::string& name) {
  std::string tried;
  for (const std::string& directory : writable_candidates()) {
    std::string path = directory + "/muster-" + name;
    const bool ours = is_own_directory(path);
    int made = ours || ::mkdir(path.c_str(), 0700) == 0 ? 0 : errno;
    if (made == EEXIST) {
      if (auto own = beside_foreign(path); !own.empty()) {
        path = std::move(own);
        made = 0;
      }
    }
    const std::string why = unsuited(path, made);
    if (why.empty()) {
      RuntimeDir out;
      out.path_ = path;
      return out;
    }
    if (!ours && made == 0) ::rmdir(path.c_str());
    tried += (tried.empty() ? "" : ", ") + directory + " (" + why + ")";
  }
  return fail(Error{"no_writable_dir",
                    "no writable directory",
                    "tried " + tried,
                    {},
                    "mount an emptyDir at /tmp or set TMPDIR to one"});
}

// The file appears under its name when it is locked: no process finds it
// unlocked.
Result<RuntimeDir> RuntimeDir::create_owned(const std::string& name) {
  auto out = create(name);
  if (!out) return out;
  const std::string owner = out->path_ + kOwner;
  const std::string unlocked = owner + ".new";
  UniqueFd file(::open(unlocked.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
      ::rename(unlocked.c_str(), owner.c_str()) == 0) {
    out->owned_ = std::move(file);
  } else {
    ::unlink(unlocked.c_str());
  }
  return out;
}

bool abandoned(const std::string& path) {
  const UniqueFd file(
      ::open((path + kOwner).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_abandoned(const std::string& prefix) {
  for (const std::string& directory : writable_candidates()) {
    for (const std::string& name : names_in(directory)) {
      const std::string path = directory + "/" + name;
      if (!name.starts_with("muster-" + prefix) || !is_own_directory(path) ||
          !abandoned(path)) {
        continue;
      }
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  }
}

RuntimeDir::RuntimeDir(RuntimeDir&& other) noexcept
    : path_(std::exchange(other.path_, {})), owned_(std::move(other.owned_)) {}

RuntimeDir& RuntimeDir::operator=(RuntimeDir&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(owned_, other.owned_);
  return *this;
}

RuntimeDir::~RuntimeDir() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace muster
