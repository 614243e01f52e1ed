// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/sys_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <memory>

#include "base/fd.h"
#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxText = 64 * 1024;
constexpr size_t kMaxNames = 4096;

}  // namespace

SysText read_sys(const std::string& path) {
  const UniqueFd fd(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return {"", errno};
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return {"", errno};
  if (!S_ISREG(status.st_mode)) return {"", EINVAL};
  std::string text;
  char chunk[4096];
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {"", errno};
    if (n == 0) break;
    text.append(chunk, static_cast<size_t>(n));
    if (text.size() > kMaxText) return {"", EFBIG};
  }
  return {without_controls(trim(text), "\n\t"), 0};
}

std::optional<int64_t> read_sys_number(const std::string& path) {
  const SysText file = read_sys(path);
  if (!file) return std::nullopt;
  if (!file.text.starts_with("0x")) return parse_integer(file.text);
  int64_t value = 0;
  const char* end = file.text.data() + file.text.size();
  const auto parsed = std::from_chars(file.text.data() + 2, end, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::vector<std::string>> list_sys(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()),
                                                      ::closedir);
  if (!directory) return std::nullopt;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    names.push_back(name);
    if (names.size() >= kMaxNames) break;
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool sys_exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string link_name(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
  if (n <= 0 || n == static_cast<ssize_t>(sizeof target)) return "";
  const std::string text(target, static_cast<size_t>(n));
  return without_controls(text.substr(text.rfind('/') + 1));
}

std::string device_path(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) return "";
  const std::string text = resolved;
  const std::string marker = "/sys/devices/";
  const size_t at = text.find(marker);
  if (at == std::string::npos) return "";
  return without_controls(text.substr(at + marker.size()));
}

}  // namespace muster
