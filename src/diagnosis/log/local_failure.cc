// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/local_failure.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string>

#include "base/text.h"

namespace muster {

namespace {

// How torchrun, accelerate, DeepSpeed and PyTorch's agent count their nodes.
bool tells_of_second_node(std::string_view line) {
  constexpr std::array<std::string_view, 5> kWords = {"node", "NODE", "machine",
                                                      "MACHINE", "group_"};
  if (std::none_of(kWords.begin(), kWords.end(), [line](auto word) {
        return line.find(word) != line.npos;
      })) {
    return false;
  }
  static const RE2 pattern(
      R"((?i)\b(nnodes|num[-_](nodes|machines)|group_world_size)\b\W{1,4}(\d+:)?([2-9]|[1-9]\d))"
      R"(|\b(node|machine|group)_rank\b\W{1,4}[1-9])");
  return RE2::PartialMatch({line.data(), line.size()}, pattern);
}

}  // namespace

void LocalFailure::add(std::string_view line, std::string_view host) {
  several_ = several_ || tells_of_second_node(line);
  if (first_ >= 0 || line.find("local_rank") == line.npos) return;
  static const RE2 failed(
      R"(\bfailed \(exitcode: -?\d+\) local_rank: (\d+) \(pid: )");
  std::string told;
  if (!RE2::PartialMatch({line.data(), line.size()}, failed, &told)) return;
  several_ = several_ || !host.empty();
  const int64_t number = parse_integer(told).value_or(-1);
  first_ = number <= INT_MAX ? static_cast<int>(number) : -1;
}

}  // namespace muster
