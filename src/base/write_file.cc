// SPDX-License-Identifier: Apache-2.0
// write_file_atomically(): one way to write a file that a user named. Replaces
// a regular file by a new one with a random name from the same directory.
// Follows links, writes to devices, pipes and descriptors. Writes a file that
// cannot be replaced (a bind mount, a read-only directory) in place, once its
// file system has room. Refuses: links, pipes and devices that another user put
// into a shared sticky directory (as proc(5), fs.protected_symlinks), pipes
// without a reader.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr std::chrono::seconds kPatience{10};  // with a pipe's reader
constexpr int kMaxLinks = 40;                  // as in the kernel

tl::unexpected<Error> unwritable(int error, const std::string& path) {
  return fail_errno(error, "file_unwritable", "cannot write", path);
}

tl::unexpected<Error> unread(const std::string& why, const std::string& path) {
  return fail(Error{"file_unwritable", "cannot write", why, path, {}});
}

std::string parent(const std::string& path) {
  const std::string out = std::filesystem::path(path).parent_path().string();
  return out.empty() ? "." : out;
}

// Whether another user put `entry` into a world-writable directory.
bool planted(const struct stat& entry, const std::string& directory) {
  struct stat shared {};
  return ::stat(directory.c_str(), &shared) == 0 &&
         (shared.st_mode & S_ISVTX) != 0 && (shared.st_mode & S_IWOTH) != 0 &&
         entry.st_uid != ::geteuid() && entry.st_uid != shared.st_uid;
}

// The descriptor that a path stands for. Opening it anew would lose its
// position, and the earlier content of a regular file behind it.
std::optional<int> descriptor_of(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const auto number = parse_integer(path.substr(folder.size()));
    if (number && *number >= 0 && *number <= INT_MAX) {
      return static_cast<int>(*number);
    }
  }
  return std::nullopt;
}

struct Target {
  std::string path;  // behind all links
  std::optional<int> descriptor;
  bool exists = false;
  bool planted = false;
  struct stat info {};
};

Result<Target> resolve(const std::string& path) {
  Target out;
  out.path = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    out.descriptor = descriptor_of(out.path);
    if (out.descriptor) return out;
    if (::lstat(out.path.c_str(), &out.info) != 0) {
      if (errno != ENOENT) return unwritable(errno, path);
      return out;
    }
    out.planted = planted(out.info, parent(out.path));
    if (!S_ISLNK(out.info.st_mode)) {
      out.exists = true;
      return out;
    }
    if (out.planted) return unwritable(EACCES, path);
    char to[PATH_MAX];
    const ssize_t n = ::readlink(out.path.c_str(), to, sizeof to);
    if (n < 0) return unwritable(errno, path);
    const std::string next(to, static_cast<size_t>(n));
    out.path = next.starts_with('/') ? next : parent(out.path) + "/" + next;
  }
  return unwritable(ELOOP, path);
}

// To a pipe or device, whose reader may be slow: until the deadline.
Status write_patiently(int fd, std::string_view bytes,
                       const std::string& path) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!bytes.empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd room{fd, POLLOUT, 0};
    const int ready =
        ::poll(&room, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return unread("its reader takes nothing for 10 s", path);
    // A blocking pipe takes PIPE_BUF bytes without a wait once it has room.
    const ssize_t n =
        ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return unwritable(errno, path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// Our own descriptors are close-on-exec; inherited ones are not.
Status write_descriptor(int fd, std::string_view text,
                        const std::string& path) {
  const int flags = ::fcntl(fd, F_GETFD);
  if (flags < 0 || (flags & FD_CLOEXEC) != 0) return unwritable(EBADF, path);
  return write_patiently(fd, text, path);
}

// Loses nothing on a full disk: takes the room before the first byte.
Status write_in_place(const Target& target, std::string_view text,
                      const std::string& path) {
  UniqueFd fd(::open(target.path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY |
                                              O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENXIO && S_ISFIFO(target.info.st_mode)) {
    return unread("no process reads this pipe", path);
  }
  struct stat now {};
  if (!fd || ::fstat(fd.get(), &now) != 0) return unwritable(errno, path);
  if (!S_ISREG(now.st_mode)) return write_patiently(fd.get(), text, path);
  const auto size = static_cast<off_t>(text.size());
  if (size > 0 && ::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, size) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    return unwritable(errno, path);
  }
  if (!write_all(fd.get(), text) || ::ftruncate(fd.get(), size) != 0 ||
      ::close(fd.release()) != 0) {
    return unwritable(errno, path);
  }
  return {};
}

// 0, or the errno; then nothing is left behind and nothing has changed.
int replace(const Target& target, std::string_view text, int mode) {
  const std::string temporary = parent(target.path) + "/.muster-" + random_id();
  UniqueFd fd(::open(temporary.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     mode));
  if (!fd) return errno;
  // A private file stays one; a foreign owner does not get his back.
  if (target.exists && (mode & 077) != 0 && !target.planted) {
    static_cast<void>(
        ::fchown(fd.get(), target.info.st_uid, target.info.st_gid) == 0);
    ::fchmod(fd.get(), target.info.st_mode & 0777);
  }
  // NFS reports a full quota when the file is closed.
  if (write_all(fd.get(), text) && ::close(fd.release()) == 0 &&
      ::rename(temporary.c_str(), target.path.c_str()) == 0) {
    return 0;
  }
  const int error = errno;
  ::unlink(temporary.c_str());
  return error;
}

}  // namespace

Status write_file_atomically(const std::string& path, std::string_view text,
                             int mode) {
  const auto target = resolve(path);
  if (!target) return tl::unexpected(target.error());
  if (target->descriptor) {
    return write_descriptor(*target->descriptor, text, path);
  }
  if (target->exists && !S_ISREG(target->info.st_mode)) {
    if (target->planted) return unwritable(EACCES, path);
    return write_in_place(*target, text, path);
  }
  const int error = replace(*target, text, mode);
  if (error == 0) return {};
  const bool irreplaceable =
      error == EBUSY || error == EACCES || error == EPERM || error == EROFS;
  if (!irreplaceable || !target->exists || target->planted) {
    return unwritable(error, path);
  }
  return write_in_place(*target, text, path);
}

}  // namespace muster
