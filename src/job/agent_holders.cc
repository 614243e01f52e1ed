// SPDX-License-Identifier: Apache-2.0
#include "job/agent_holders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/directory.h"
#include "base/fd.h"
#include "base/process_table.h"
#include "base/runtime_dir.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kArea = "job-";

// FNV-1a: a file name from any job key, the same in every build.
std::string stable_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  char out[17];
  std::snprintf(out, sizeof out, "%016llx",
                static_cast<unsigned long long>(hash));
  return out;
}

// The prefix of the areas of this PID namespace of this boot.
std::string own_areas(const std::string& proc = "/proc") {
  const auto boot = read_file(proc + "/sys/kernel/random/boot_id");
  std::error_code error;
  const auto space =
      std::filesystem::read_symlink(proc + "/self/ns/pid", error);
  return std::string(kArea) + stable_hash(boot.value_or("") + space.string()) +
         "-";
}

// Five lines: start time, incarnation, launch id, agent key, "end" (so that a
// file cut short by a full disk is not believed).
std::optional<AgentHolder> read_holder(const std::filesystem::path& path) {
  const auto pid = parse_integer(path.filename().string());
  const auto text = read_file(path.string(), 4096);
  if (!pid || *pid <= 1 || !text) return std::nullopt;
  const auto lines = split(*text, '\n');
  if (lines.size() < 5 || lines[4] != "end") return std::nullopt;
  AgentHolder holder;
  holder.file = path.string();
  holder.pid = static_cast<pid_t>(*pid);
  holder.incarnation = lines[1];
  holder.launch_id = lines[2];
  holder.agent_key = lines[3];
  holder.alive = is_alive(holder.pid) &&
                 std::to_string(start_time(holder.pid)) == lines[0];
  return holder;
}

// It may be on a file system that is full, which RuntimeDir would not take it
// from.
std::vector<std::string> run_directories(const std::string& agent_key) {
  std::vector<std::string> out;
  for (const std::string& directory : writable_candidates()) {
    const std::string path = directory + "/muster-" + agent_key;
    if (is_own_directory(path)) out.push_back(path);
  }
  return out;
}

bool lives_elsewhere(const AgentHolder& holder) {
  for (const std::string& path : run_directories(holder.agent_key)) {
    if (!abandoned(path)) return true;
  }
  return false;
}

}  // namespace

std::string agent_area_name(std::string_view job, const std::string& proc) {
  return own_areas(proc) + stable_hash(job);
}

std::string agent_area_lock(const std::string& area) { return area + "/lock"; }

std::vector<AgentHolder> agent_holders(const std::string& area) {
  std::vector<AgentHolder> out;
  for (const std::string& name : names_in(area)) {
    auto holder = read_holder(area + "/" + name);
    if (holder) out.push_back(std::move(*holder));
  }
  return out;
}

void remove_run_directory(const std::string& agent_key) {
  for (const std::string& path : run_directories(agent_key)) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
}

void remove_empty_area(const std::string& area) {
  for (const std::string& name : names_in(area)) {
    if (area + "/" + name != agent_area_lock(area)) return;
  }
  ::unlink(agent_area_lock(area).c_str());
  ::rmdir(area.c_str());
}

void clear_after_killed_agents() {
  const std::string prefix = "muster-" + own_areas();
  for (const std::string& directory : writable_candidates()) {
    for (const std::string& name : names_in(directory)) {
      const std::string area = directory + "/" + name;
      if (!name.starts_with(prefix) || !is_own_directory(area)) {
        continue;
      }
      // The agent that holds it cleans up by itself.
      const UniqueFd guard(
          ::open(agent_area_lock(area).c_str(), O_RDWR | O_CLOEXEC));
      if (!guard || ::flock(guard.get(), LOCK_EX | LOCK_NB) != 0) continue;
      for (const AgentHolder& holder : agent_holders(area)) {
        if (holder.alive || lives_elsewhere(holder)) continue;
        remove_run_directory(holder.agent_key);
        ::unlink(holder.file.c_str());
      }
      remove_empty_area(area);
    }
  }
}

}  // namespace muster
