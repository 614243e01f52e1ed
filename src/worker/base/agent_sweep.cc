// SPDX-License-Identifier: Apache-2.0
#include "worker/base/agent_sweep.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/directory.h"
#include "base/fd.h"
#include "base/process_table.h"
#include "base/text.h"

namespace muster {

namespace {

using ProcessTable = std::map<pid_t, ProcessEntry>;

ProcessTable process_table(const std::string& proc) {
  ProcessTable table;
  for (const std::string& name : names_in(proc)) {
    const auto pid = parse_integer(name);
    if (!pid || *pid <= 0) continue;
    const auto stat = read_file(proc + "/" + name + "/stat", 4096);
    if (!stat) continue;
    // The command, in parentheses, may hold anything: search behind the last
    // one.
    const size_t behind = stat->rfind(')');
    if (behind == std::string::npos) continue;
    const auto words = split_words(std::string_view(*stat).substr(behind + 1));
    if (words.size() < 2) continue;
    const auto parent = parse_integer(words[1]);
    table[static_cast<pid_t>(*pid)] = {static_cast<pid_t>(parent.value_or(0)),
                                       words[0] == "Z" || words[0] == "X"};
  }
  return table;
}

std::vector<pid_t> below(pid_t root, const ProcessTable& table) {
  std::vector<pid_t> found{root};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const auto& [pid, entry] : table) {
      if (entry.parent == found[i] && pid != root) found.push_back(pid);
    }
  }
  std::erase_if(found, [&table](pid_t pid) {
    const auto entry = table.find(pid);
    return entry == table.end() || entry->second.zombie;
  });
  return found;
}

}  // namespace

std::vector<pid_t> with_descendants(pid_t root, const std::string& proc) {
  return below(root, process_table(proc));
}

std::vector<pid_t> RecentProcesses::with_descendants(pid_t root) {
  const auto now = Clock::now();
  if (now >= good_until_) {
    table_ = process_table(proc_);
    good_until_ = now + kMoment;
  }
  return below(root, table_);
}

std::vector<pid_t> launch_processes(pid_t agent, const std::string& agent_key,
                                    const std::string& proc) {
  std::vector<pid_t> found = with_descendants(agent, proc);
  for (const pid_t pid :
       processes_with_env(kAgentKeyVariable, agent_key, proc)) {
    if (is_alive(pid, proc)) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase(found, agent);
  return found;
}

}  // namespace muster
