// SPDX-License-Identifier: Apache-2.0
// One directory, with a real test: writes a file to the disk and removes it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "doctor/pod_state.h"
#include "job/mountinfo.h"

namespace muster {

namespace {

constexpr size_t kTrialBytes = 4096;

// The mount that `path` lies on: the longest mount point before it, and of
// equal ones the later.
std::string filesystem_of(const std::string& path) {
  const auto text = read_file("/proc/self/mountinfo", 16 << 20);
  if (!text) return "";
  std::string type;
  size_t best = 0;
  for (const Mount& mount : parse_mountinfo(*text)) {
    const std::string& point = mount.point;
    const bool over = path.starts_with(point) &&
                      (point == "/" || path.size() == point.size() ||
                       path[point.size()] == '/');
    if (!over || point.size() < best) continue;
    best = point.size();
    type = mount.type;
  }
  return type;
}

int64_t milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now() - begin)
      .count();
}

void try_to_write(PathState& state) {
  const auto begin = std::chrono::steady_clock::now();
  std::string name = state.path + "/.muster-doctor-XXXXXX";
  const UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) {
    state.reason = std::strerror(errno);
    return;
  }
  const bool written = write_all(file.get(), std::string(kTrialBytes, 'x')) &&
                       ::fsync(file.get()) == 0;
  if (!written) state.reason = std::strerror(errno);
  ::unlink(name.c_str());
  state.writable = written;
  if (written) state.write_ms = milliseconds_since(begin);
}

}  // namespace

PathState check_path(const std::string& path) {
  PathState state;
  state.path = path;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    state.reason = std::strerror(errno);
    return state;
  }
  if (!S_ISDIR(info.st_mode)) {
    state.reason = "not a directory";
    return state;
  }
  state.exists = true;
  state.filesystem = filesystem_of(path);
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) == 0) {
    state.free_bytes = static_cast<int64_t>(space.f_bavail) *
                       static_cast<int64_t>(space.f_frsize);
    if (space.f_files > 0) {
      state.free_inodes = static_cast<int64_t>(space.f_favail);
    }
  }
  try_to_write(state);
  return state;
}

}  // namespace muster
