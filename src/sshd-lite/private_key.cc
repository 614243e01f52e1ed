// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/private_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxPrivateKeyFile = 64 * 1024;
constexpr const char* kMountHint =
    "mount the job's SSH Secret there (mpi-operator and Trainer do), make one "
    "with `muster keygen`, or name its directory with --key-dir";

// The line of its fdinfo; "": unknown, as in some sandboxes. (statx offers it
// only since Linux 5.8.)
std::string mount_of(const UniqueFd& file) {
  const auto info =
      read_file("/proc/self/fdinfo/" + std::to_string(file.get()));
  if (!info) return {};
  for (const std::string_view line : split(*info, '\n')) {
    if (line.starts_with("mnt_id:")) return std::string(line);
  }
  return {};
}

// Part of the image, and readable by every user: all who can pull the image
// have it. A Secret is a mount of its own, whatever its mode.
bool bare_in_image(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return false;
  if ((info.st_mode & S_IROTH) == 0) return false;
  const UniqueFd root(::open("/", O_PATH | O_CLOEXEC));
  if (!root) return false;
  const std::string mount = mount_of(file);
  return !mount.empty() && mount == mount_of(root);
}

}  // namespace

Error no_private_key(const std::string& file) {
  return Error{"key_missing", "no private SSH key",
               file.empty() ? "no key directory was found" : "no such file",
               file, kMountHint};
}

Result<SshKey> load_private_key(const std::string& file) {
  if (file.empty()) return tl::unexpected(no_private_key(file));
  auto text = read_file(file, kMaxPrivateKeyFile);
  if (!text) {
    // Only a missing file may be replaced by an ephemeral key; an unreadable
    // one is a mistake to report.
    if (::access(file.c_str(), F_OK) != 0 &&
        (errno == ENOENT || errno == ENOTDIR)) {
      return tl::unexpected(no_private_key(file));
    }
    text.error().code = "key_unusable";
    text.error().hint =
        "uid " + std::to_string(::geteuid()) +
        " must be able to read it: set sshAuthMountPath to a directory such "
        "as /etc/mpi-ssh (mpi-operator makes a key in /root/.ssh readable for "
        "root only), or fsGroup, or the Secret's defaultMode";
    return tl::unexpected(text.error());
  }
  if (bare_in_image(file)) {
    return fail(
        Error{"key_unusable", "the private SSH key is not secret",
              "it is part of the image and everybody may read it", file,
              "take it out of the image and mount the job's SSH Secret; "
              "for a key of your own: chmod 600"});
  }
  return SshKey::parse_private(*text, file);
}

}  // namespace muster
