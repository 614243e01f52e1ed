// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/rank_program.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
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

void add(int64_t& to, std::optional<int64_t> value) {
  if (value) to = std::max<int64_t>(to, 0) + *value;
}

// Its own and of its children that were waited for: fields 14 to 17 of
// /proc/PID/stat.
std::optional<int64_t> cpu_ms_of(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  const size_t close = text ? text->rfind(')') : std::string::npos;
  if (close == std::string::npos) return {};
  const auto rest = split_words(std::string_view(*text).substr(close + 1));
  constexpr size_t kFirst = 11;
  constexpr size_t kFields = 4;
  static const int64_t ticks = std::max(::sysconf(_SC_CLK_TCK), 1L);
  int64_t sum = 0;
  for (size_t i = kFirst; i < kFirst + kFields; ++i) {
    const auto value = i < rest.size() ? parse_integer(rest[i]) : std::nullopt;
    if (!value) return {};
    sum += *value;
  }
  return sum * 1000 / ticks;
}

std::optional<int64_t> io_bytes_of(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/io", 4096);
  if (!text) return {};
  std::optional<int64_t> sum;
  for (const std::string_view line : split(*text, '\n')) {
    for (const std::string_view name : {"rchar: ", "wchar: "}) {
      if (!line.starts_with(name)) continue;
      const auto value = parse_integer(line.substr(name.size()));
      if (value) sum = sum.value_or(0) + *value;
    }
  }
  return sum;
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

ProcessUse use_of_tree(pid_t pid) {
  constexpr size_t kMost = 64;
  ProcessUse use;
  std::vector<pid_t> tree = {pid};
  for (size_t i = 0; i < tree.size(); ++i) {
    add(use.cpu_ms, cpu_ms_of(tree[i]));
    add(use.io_bytes, io_bytes_of(tree[i]));
    for (const pid_t child : children_of(tree[i])) {
      if (tree.size() < kMost) tree.push_back(child);
    }
  }
  return use;
}

std::string program_environ(pid_t pid) {
  const auto text = read_file(
      "/proc/" + std::to_string(program_of(pid)) + "/environ", 1 << 20);
  return text ? *text : "";
}

}  // namespace muster
