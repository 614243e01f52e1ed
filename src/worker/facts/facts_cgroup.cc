// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/facts_cgroup.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

// v1 writes "no limit" as a number near 2^63, rounded down to a page.
constexpr int64_t kNoLimitFrom = int64_t{1} << 60;

std::optional<int64_t> read_integer(const std::string& path) {
  const auto text = read_file(path, 4096);
  return text ? parse_integer(trim(*text)) : std::nullopt;
}

// The number behind `key` in a file of "key value" lines.
int64_t read_key(const std::string& path, std::string_view key) {
  const auto text = read_file(path, 64 * 1024);
  if (!text) return -1;
  for (const auto line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == key) {
      return parse_integer(words[1]).value_or(-1);
    }
  }
  return -1;
}

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// One line of mountinfo that is a cgroup mount (proc(5)): the 4th word is the
// mounted root, the 5th the mount point; type and options follow a "-".
struct CgroupMount {
  std::string_view mounted_root;
  std::string_view point;
  std::string_view type;
  std::string_view options;
};

std::optional<CgroupMount> parse_mount(std::string_view line) {
  const auto words = split_words(line);
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 6 || words.end() - dash < 4) return std::nullopt;
  if (!dash[1].starts_with("cgroup")) return std::nullopt;
  return CgroupMount{words[3], words[4], dash[1], dash[3]};
}

// The directory of group `path` under a mount of `mounted_root`. Where the
// path lies outside of what is mounted, the mount point itself is our view.
std::string group_directory(const std::string& root, const CgroupMount& mount,
                            std::string_view path, const char* probe) {
  const std::string point = root + std::string(mount.point);
  std::string_view relative = path;
  if (mount.mounted_root != "/") {
    if (!path.starts_with(mount.mounted_root)) return point;
    relative = path.substr(mount.mounted_root.size());
  }
  const std::string full = relative.empty() || relative == "/"
                               ? point
                               : point + std::string(relative);
  return ::access((full + "/" + probe).c_str(), F_OK) == 0 ? full : point;
}

// Calls `visit` for `directory` and each one above it, up to `top`.
template <class Visit>
void walk_up(std::string directory, const std::string& top, Visit visit) {
  while (directory.size() >= top.size() && !directory.empty()) {
    visit(directory);
    if (directory == top) return;
    directory.resize(directory.find_last_of('/'));
  }
}

void note_group(CgroupPlace& place, const std::string& root,
                const CgroupMount& mount, std::string_view controllers,
                std::string_view path) {
  const std::string point = root + std::string(mount.point);
  if (mount.type == "cgroup2") {
    if (place.version == 1 || !controllers.empty()) return;
    const std::string directory =
        group_directory(root, mount, path, "cgroup.procs");
    place = {2, directory, point, directory, point};
    return;
  }
  // A v1 controller wins over a v2 mount beside it (hybrid): it is the one
  // that limits.
  if (has_word(controllers, "memory") && has_word(mount.options, "memory")) {
    place.memory = group_directory(root, mount, path, "memory.usage_in_bytes");
    place.memory_mount = point;
    place.version = 1;
  }
  if (has_word(controllers, "cpu") && has_word(mount.options, "cpu")) {
    place.cpu = group_directory(root, mount, path, "cpu.cfs_period_us");
    place.cpu_mount = point;
  }
}

}  // namespace

CgroupPlace find_cgroup(const std::string& root) {
  CgroupPlace place;
  const auto groups = read_file(root + "/proc/self/cgroup", 1 << 20);
  const auto mounts = read_file(root + "/proc/self/mountinfo", 16 << 20);
  if (!groups || !mounts) return place;
  for (const auto line : split(*mounts, '\n')) {
    const auto mount = parse_mount(line);
    if (!mount) continue;
    for (const auto group : split(*groups, '\n')) {  // "N:controllers:/path"
      const size_t first = group.find(':');
      const size_t second = group.find(':', first + 1);
      if (first == group.npos || second == group.npos) continue;
      note_group(place, root, *mount,
                 group.substr(first + 1, second - first - 1),
                 group.substr(second + 1));
    }
  }
  return place;
}

int64_t read_oom_kills(const CgroupPlace& place) {
  if (place.memory.empty()) return -1;
  return read_key(place.memory + (place.version == 2 ? "/memory.events"
                                                     : "/memory.oom_control"),
                  "oom_kill");
}

int64_t read_cgroup_charge(const CgroupPlace& place) {
  return read_integer(place.memory + (place.version == 2
                                          ? "/memory.current"
                                          : "/memory.usage_in_bytes"))
      .value_or(-1);
}

CgroupMemory read_cgroup_memory(const CgroupPlace& place) {
  CgroupMemory out;
  if (place.memory.empty()) return out;
  const bool v2 = place.version == 2;
  const auto at = [&place](const char* name) {
    return place.memory + "/" + name;
  };
  walk_up(place.memory, place.memory_mount, [&](const std::string& directory) {
    // "max" is not an integer, so it never becomes a limit.
    const auto limit = read_integer(
        directory + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (!limit || *limit >= kNoLimitFrom) return;
    out.limit = out.limit < 0 ? *limit : std::min(out.limit, *limit);
  });
  out.usage = read_cgroup_charge(place);
  const int64_t droppable =
      read_key(at("memory.stat"), v2 ? "inactive_file" : "total_inactive_file");
  if (out.usage >= 0 && droppable > 0) {
    out.usage = std::max<int64_t>(out.usage - droppable, 0);
  }
  out.peak = read_integer(at(v2 ? "memory.peak" : "memory.max_usage_in_bytes"))
                 .value_or(-1);
  out.oom_kills = read_oom_kills(place);
  return out;
}

double read_cpu_quota(const CgroupPlace& place) {
  double best = -1;
  walk_up(place.cpu, place.cpu_mount, [&](const std::string& directory) {
    std::optional<int64_t> quota;
    std::optional<int64_t> period;
    if (place.version == 2) {
      const auto text = read_file(directory + "/cpu.max", 4096);
      if (!text) return;
      const auto words = split_words(*text);
      if (words.size() != 2) return;
      quota = parse_integer(words[0]);
      period = parse_integer(words[1]);
    } else {
      quota = read_integer(directory + "/cpu.cfs_quota_us");
      period = read_integer(directory + "/cpu.cfs_period_us");
    }
    if (!quota || !period || *quota <= 0 || *period <= 0) return;
    const double cpus =
        static_cast<double>(*quota) / static_cast<double>(*period);
    best = best < 0 ? cpus : std::min(best, cpus);
  });
  return best;
}

}  // namespace muster
