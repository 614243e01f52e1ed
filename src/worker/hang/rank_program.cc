// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/rank_program.h"

#include <algorithm>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

std::vector<pid_t> children_of(pid_t pid) {
  const std::string id = std::to_string(pid);
  const auto text =
      read_file("/proc/" + id + "/task/" + id + "/children", 64 << 10);
  std::vector<pid_t> out;
  if (!text) return out;
  for (const std::string_view word : split_words(*text)) {
    if (const auto child = parse_integer(word)) {
      out.push_back(static_cast<pid_t>(*child));
    }
  }
  return out;
}

bool is_shell(const std::string& name) {
  static const std::vector<std::string> kNames = {
      "sh",      "bash",    "dash", "zsh",  "ksh",  "busybox",  "env",
      "numactl", "timeout", "nice", "time", "tini", "dumb-init"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

// "123 (a name) S 1 …"
ProcessStat process_stat(pid_t pid) {
  ProcessStat out;
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!text) return out;
  const size_t open = text->find('(');
  const size_t close = text->rfind(')');
  if (open == std::string::npos || close == std::string::npos) return out;
  out.name = text->substr(open + 1, close - open - 1);
  const auto rest = split_words(std::string_view(*text).substr(close + 1));
  if (!rest.empty()) out.state = rest[0];
  if (rest.size() > 17) {
    out.threads = parse_int(rest[17]).value_or(0);
  }
  return out;
}

pid_t program_of(pid_t pid) {
  for (int depth = 0; depth < 4 && is_shell(process_stat(pid).name); ++depth) {
    const auto children = children_of(pid);
    if (children.size() != 1) break;
    pid = children[0];
  }
  return pid;
}

std::string program_environ(pid_t pid) {
  const auto text = read_file(
      "/proc/" + std::to_string(program_of(pid)) + "/environ", 1 << 20);
  return text ? *text : "";
}

}  // namespace muster
