// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/line_host.h"

#include <algorithm>
#include <cctype>

namespace muster {

namespace {

constexpr size_t kLongestName = 253;

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
         c == '.' || c == '_';
}

// Digits from `at` on; 0: none.
size_t digits(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

// Not "12:03:44" and not "file.cc:12:".
bool names_host(std::string_view name) {
  bool letter = false;
  for (const char c : name) {
    letter |= std::isalpha(static_cast<unsigned char>(c)) != 0;
  }
  for (const std::string_view source :
       {".cc", ".cpp", ".cu", ".h", ".hpp", ".c", ".py", ".go", ".rs"}) {
    if (name.ends_with(source)) return false;
  }
  return letter && name.size() <= kLongestName;
}

// UCX: "[1700000000.123456] [node-3:4711 :0] …", and NCCL with a time:
// "[2026-04-22 21:34:20] node-3:4711:4712 [0] …".
std::string_view behind_time(std::string_view line) {
  if (!line.starts_with('[')) return line;
  const size_t end = line.find_first_not_of("0123456789.:-+,TZ ", 1);
  const bool time = end != std::string_view::npos && end > 8 &&
                    line.substr(end).starts_with("] ");
  return time ? line.substr(end + 2) : line;
}

// "[proxy:0:1@node-3] " of Hydra. Its mpiexec speaks about others, except about
// a program that it could not start on its own host.
std::string_view host_of_proxy(std::string_view line) {
  const bool own = line.starts_with("[mpiexec@") &&
                   line.find("] HYDU_create_process ") != line.npos;
  if (!own && !line.starts_with("[proxy:")) return {};
  const size_t at = line.find('@');
  const size_t end = line.find(']');
  if (at == std::string_view::npos || end == std::string_view::npos ||
      at > end || end - at - 1 > kLongestName) {
    return {};
  }
  return line.substr(at + 1, end - at - 1);
}

// "2m  Warning  Evicted  pod/x-worker-3  The node was low on …": kubectl's
// events of pods and nodes.
std::string_view host_of_event(std::string_view line) {
  constexpr size_t kAge = 24;  // "5m", "90s (x3 over 5m)"
  if (line.empty() || digits(line, 0) == 0) return {};
  size_t at = std::string_view::npos;
  for (const std::string_view type : {"Warning ", "Normal "}) {
    if (at != std::string_view::npos) break;
    at = line.substr(0, kAge + type.size()).find(type);
  }
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(line.find(' ', at));
  for (int column = 0; column < 2; ++column) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    for (const std::string_view kind : {"pod/", "node/"}) {
      if (!rest.starts_with(kind)) continue;
      rest.remove_prefix(kind.size());
      size_t end = 0;
      while (end < rest.size() && in_name(rest[end])) ++end;
      return rest.substr(0, end);
    }
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  }
  return {};
}

// "s22r2b61.139634PSM2 can't open hfi unit", "….139634hfi_userinit: …".
std::string_view host_before_psm(std::string_view line) {
  size_t at = std::string_view::npos;
  for (const std::string_view word : {"PSM2", "hfi_", "hfp_", "psmi_"}) {
    at = std::min(at, line.substr(0, kLongestName).find(word));
  }
  if (at == std::string_view::npos || at < 3) return {};
  size_t dot = at;
  while (dot > 0 && line[dot - 1] >= '0' && line[dot - 1] <= '9') --dot;
  if (dot == at || dot < 2 || line[dot - 1] != '.') return {};
  const std::string_view name = line.substr(0, dot - 1);
  for (const char c : name) {
    if (!in_name(c)) return {};
  }
  return name;
}

// "[08/11/2017 19:56:52][node-3][0]:ERROR: …" of cuda_memtest; the number is
// the GPU's.
std::string_view host_behind_time(std::string_view line) {
  if (!line.starts_with('[')) return {};
  const size_t time = line.find_first_not_of("0123456789./:- ", 1);
  if (time == std::string_view::npos || time < 9 ||
      !line.substr(time).starts_with("][")) {
    return {};
  }
  size_t end = time + 2;
  while (end < line.size() && in_name(line[end])) ++end;
  const std::string_view name = line.substr(time + 2, end - time - 2);
  const size_t number = digits(line, std::min(end + 2, line.size()));
  const bool mark = number > 0 && line.substr(end).starts_with("][") &&
                    line.substr(end + 2 + number).starts_with("]:");
  return mark && names_host(name) ? name : std::string_view();
}

// "node-3: Test CUDA failure common.cu:892 …" of nccl-tests.
std::string_view host_of_nccl_test(std::string_view line) {
  const size_t at = line.find(": Test ");
  if (at == std::string_view::npos || at > kLongestName) return {};
  const std::string_view what = line.substr(at + 7);
  if (!what.starts_with("CUDA failure") && !what.starts_with("NCCL failure")) {
    return {};
  }
  const std::string_view name = line.substr(0, at);
  const bool plain = std::all_of(name.begin(), name.end(), in_name);
  return plain && names_host(name) ? name : std::string_view();
}

// "slurmstepd-node-3: error: …" of older Slurm.
std::string_view host_of_slurmstepd(std::string_view line) {
  constexpr std::string_view kDaemon = "slurmstepd-";
  if (!line.starts_with(kDaemon)) return {};
  size_t end = kDaemon.size();
  while (end < line.size() && in_name(line[end])) ++end;
  if (!line.substr(end).starts_with(": ")) return {};
  return line.substr(kDaemon.size(), end - kDaemon.size());
}

}  // namespace

std::string_view host_in_line(std::string_view line) {
  line = behind_time(line);
  for (const auto written :
       {host_of_proxy, host_before_psm, host_of_event, host_behind_time,
        host_of_nccl_test, host_of_slurmstepd}) {
    const std::string_view name = written(line);
    if (!name.empty()) return name;
  }
  const bool bracket = line.starts_with('[');
  const size_t start = bracket ? 1 : 0;
  size_t end = start;
  while (end < line.size() && in_name(line[end])) ++end;
  if (end == start || end >= line.size() || line[end] != ':') return {};
  const std::string_view name = line.substr(start, end - start);
  if (!names_host(name)) return {};
  size_t at = end + 1;
  size_t numbers = 0;
  for (size_t length = digits(line, at); length > 0;
       length = digits(line, at)) {
    ++numbers;
    at += length;
    if (at < line.size() && line[at] == ' ' &&
        line.substr(at).starts_with(" :")) {
      ++at;  // "[node-3:4711 :0:4711]"
    }
    if (at >= line.size() || line[at] != ':') break;
    ++at;
  }
  if (at >= line.size()) return {};
  const bool closed = bracket && line[at] == ']' && numbers >= 1;
  const bool nccl = !bracket && line[at] == ' ' && numbers == 2 &&
                    line.substr(at).starts_with(" [");
  return closed || nccl ? name : std::string_view();
}

}  // namespace muster
