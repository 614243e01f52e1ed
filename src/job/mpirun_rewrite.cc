// SPDX-License-Identifier: Apache-2.0
// Copies words, skipping options that are muster's to decide. Pure.
#include "job/mpirun_rewrite.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "job/output_files.h"

namespace muster {

namespace {

// Parameters of Open MPI for the way to daemons and their hosts.
bool is_ours(const LineOption& option) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "plm",
      "plm_rsh_agent",
      "plm_ssh_agent",
      "plm_rsh_args",
      "plm_ssh_args",
      "plm_rsh_no_tree_spawn",
      "plm_ssh_no_tree_spawn",
      "orte_rsh_agent",
      "orte_default_hostfile",
      "prte_default_hostfile",
      "orte_keep_fqdn_hostnames",
      "prte_keep_fqdn_hostnames",
      "orte_leave_session_attached"};
  return option.meaning == OptionMeaning::kParameter &&
         std::find(kNames.begin(), kNames.end(), option.values[0]) !=
             kNames.end();
}

// horovodrun without hosts makes a line for its own machine, whose MPI and NCCL
// it keeps on the loopback. On our hosts they would wait for each other.
bool is_for_this_machine(const MpirunLine& line) {
  return !line.hosts.empty() &&
         std::all_of(line.hosts.begin(), line.hosts.end(),
                     [](const HostEntry& host) {
                       return host.name == "localhost" ||
                              host.name == "127.0.0.1" || host.name == "::1";
                     });
}

bool keeps_to_loopback(const LineOption& option) {
  switch (option.meaning) {
    case OptionMeaning::kParameter:
      return option.values[0] == "btl_tcp_if_include" &&
             option.values[1] == "lo";
    case OptionMeaning::kEnv:
    case OptionMeaning::kGlobalEnvPair:
      return option.values[0] == "NCCL_SOCKET_IFNAME=lo";
    default:
      return false;
  }
}

const char* hostfile_option(const MpirunLine& line, LauncherSet launcher) {
  if ((launcher & kOpenMpiLauncher) != 0) return "--hostfile";
  if (launcher == kIntelLauncher && !line.per_node && !line.by_node) {
    return "-machinefile";  // -f has slots ignored, this -ppn and -rr
  }
  if ((launcher & (kHydraLauncher | kIntelLauncher)) != 0) return "-f";
  if ((launcher & kMpirunRshLauncher) != 0) return "-hostfile";
  return "--hostfile";  // horovodrun
}

// "a:2,b" with every name mapped, and "c:*" as a number: mpirun would count
// CPUs that a quota keeps the pod from using.
std::string map_hosts(const std::string& list, const Replacement& replacement) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(list, ',')) {
    const Result<Hostfile> entry = parse_host_list(part, "-H");
    if (!entry) return list;
    const HostEntry& host = entry->hosts[0];
    const auto found = replacement.host_names.find(host.name);
    if (found == replacement.host_names.end()) {
      parts.emplace_back(part);
      continue;
    }
    const auto all = replacement.all_slots.find(host.name);
    const bool number = host.all_slots && all != replacement.all_slots.end();
    parts.push_back(found->second + (number ? ":" + std::to_string(all->second)
                                     : host.slots_given
                                         ? ":" + std::to_string(host.slots)
                                         : ""));
  }
  return join(parts, ",");
}

class Rewriter {
 public:
  Rewriter(const MpirunLine& line, const Replacement& replacement)
      : line_(line),
        replacement_(replacement),
        here_(is_for_this_machine(line)) {}

  Rewritten run() {
    const std::string& program = replacement_.program;
    out_.words.push_back(program.empty() ? line_.words[0] : program);
    if (!replacement_.hostfile.empty()) {
      out_.words.emplace_back(hostfile_option(line_, replacement_.launcher));
      out_.words.push_back(replacement_.hostfile);
    }
    append(replacement_.options);
    auto option = line_.options.begin();
    auto app = line_.apps.begin();
    for (size_t at = 1; at < line_.words.size();) {
      if (option != line_.options.end() && option->at == at) {
        write_option(*option);
        at += option->count;
        ++option;
        continue;
      }
      if (app != line_.apps.end() && app->program_at == at) {
        append(replacement_.wrapper);
        append(app->argv);
        at += app->argv.size();
        ++app;
        continue;
      }
      out_.words.push_back(line_.words[at++]);
    }
    return std::move(out_);
  }

 private:
  void append(const std::vector<std::string>& words) {
    out_.words.insert(out_.words.end(), words.begin(), words.end());
  }

  void write_option(const LineOption& option) {
    const auto first = line_.words.begin() + static_cast<ptrdiff_t>(option.at);
    const auto last = first + static_cast<ptrdiff_t>(option.count);
    const bool hosts = option.meaning == OptionMeaning::kHosts;
    const bool drop = option.meaning == OptionMeaning::kHostfile ||
                      option.meaning == OptionMeaning::kRemoteShell ||
                      is_ours(option) ||
                      names_all_hosts(option, replacement_.launcher) ||
                      !output_files(line_, option).directory.empty() ||
                      (hosts && line_.apps.size() < 2) ||
                      (here_ && keeps_to_loopback(option));
    if (drop) {
      std::vector<std::string> quoted;
      for (auto word = first; word != last; ++word) {
        quoted.push_back(shell_quote(*word));
      }
      out_.dropped.push_back(join(quoted, " "));
    } else if (hosts && !replacement_.host_names.empty()) {
      out_.words.push_back(
          (replacement_.launcher & kOpenMpiLauncher) != 0 ? "--host" : "-host");
      out_.words.push_back(map_hosts(option.values[0], replacement_));
    } else {
      out_.words.insert(out_.words.end(), first, last);
    }
  }

  const MpirunLine& line_;
  const Replacement& replacement_;
  const bool here_;
  Rewritten out_;
};

}  // namespace

Result<Rewritten> rewrite_mpirun_line(const MpirunLine& line,
                                      const Replacement& replacement) {
  if (!line.unknown.empty() && !replacement.wrapper.empty()) {
    const UnknownOption& unknown = line.unknown[0];
    return fail(Error{
        "usage",
        "could not take over the " + line.words[0] + " line",
        "option " + shell_quote(unknown.word) + " (word " +
            std::to_string(unknown.at) +
            ") is unknown, so it is unclear where the program starts",
        {},
        unknown.nearest.empty() ? "Check its spelling, or remove it."
                                : "Did you mean " + unknown.nearest + "?"});
  }
  return Rewriter(line, replacement).run();
}

}  // namespace muster
