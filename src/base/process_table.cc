// SPDX-License-Identifier: Apache-2.0
#include "base/process_table.h"

#include <unistd.h>

#include <algorithm>

#include "base/directory.h"
#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

std::vector<pid_t> all_pids(const std::string& proc) {
  std::vector<pid_t> pids;
  for (const std::string& name : names_in(proc)) {
    const auto pid = parse_integer(name);
    if (pid && *pid > 0) pids.push_back(static_cast<pid_t>(*pid));
  }
  return pids;
}

std::string proc_file(const std::string& proc, pid_t pid, const char* name) {
  return proc + "/" + std::to_string(pid) + "/" + name;
}

// The fields of /proc/PID/stat after the command, which may hold anything.
std::vector<std::string> stat_fields(pid_t pid, const std::string& proc) {
  const auto text = read_file(proc_file(proc, pid, "stat"), 4096);
  if (!text) return {};
  const size_t end = text->rfind(')');
  if (end == std::string::npos) return {};
  std::vector<std::string> out;
  for (const auto word : split_words(std::string_view(*text).substr(end + 1))) {
    out.emplace_back(word);
  }
  return out;
}

}  // namespace

std::vector<pid_t> processes_with_env(std::string_view name,
                                      std::string_view value,
                                      const std::string& proc) {
  const std::string wanted = std::string(name) + "=" + std::string(value);
  std::vector<pid_t> out;
  const pid_t self = ::getpid();
  for (const pid_t pid : all_pids(proc)) {
    if (pid == self) continue;
    const auto env = read_file(proc_file(proc, pid, "environ"), 8 << 20);
    if (!env) continue;
    for (const auto entry : split(*env, '\0')) {
      if (entry == wanted) {
        out.push_back(pid);
        break;
      }
    }
  }
  return out;
}

pid_t parent_of(pid_t pid, const std::string& proc) {
  const auto fields = stat_fields(pid, proc);
  if (fields.size() < 2) return 0;
  return static_cast<pid_t>(parse_integer(fields[1]).value_or(0));
}

void for_each_mapped(pid_t pid,
                     const std::function<void(std::string_view name)>& found,
                     const std::string& proc) {
  const auto maps = read_file(proc_file(proc, pid, "maps"), 32 << 20);
  if (!maps) return;
  for (const auto line : split(*maps, '\n')) {
    const size_t slash = line.rfind('/');
    if (slash != std::string_view::npos) found(line.substr(slash + 1));
  }
}

char process_state(pid_t pid, const std::string& proc) {
  const auto fields = stat_fields(pid, proc);
  return fields.empty() ? '\0' : fields[0][0];
}

bool is_alive(pid_t pid, const std::string& proc) {
  const char state = process_state(pid, proc);
  return state != '\0' && state != 'Z' && state != 'X';
}

unsigned long long start_time(pid_t pid, const std::string& proc) {
  const auto fields = stat_fields(pid, proc);
  if (fields.size() < 20) return 0;
  return static_cast<unsigned long long>(parse_integer(fields[19]).value_or(0));
}

std::vector<ProcessSample> use_of_processes(const std::string& proc) {
  static const int64_t kTickUs =
      1'000'000 / std::max(::sysconf(_SC_CLK_TCK), 1L);
  static const int64_t kPage = ::sysconf(_SC_PAGESIZE);
  // After the command: state, parent, …; times are fields 14 to 17 of proc(5),
  // the resident pages field 24.
  constexpr size_t kParent = 1;
  constexpr size_t kFirstTime = 11;
  constexpr size_t kResident = 21;
  std::vector<ProcessSample> out;
  for (const pid_t pid : all_pids(proc)) {
    const auto fields = stat_fields(pid, proc);
    if (fields.size() <= kResident) continue;
    const auto number = [&fields](size_t at) {
      return parse_integer(fields[at]).value_or(0);
    };
    ProcessSample use;
    use.pid = pid;
    use.parent = static_cast<pid_t>(number(kParent));
    for (size_t i = 0; i < 4; ++i) use.cpu_us += number(kFirstTime + i);
    use.cpu_us *= kTickUs;
    use.memory_bytes = number(kResident) * kPage;
    out.push_back(use);
  }
  return out;
}

int count_processes(const std::string& proc) {
  return static_cast<int>(all_pids(proc).size());
}

}  // namespace muster
