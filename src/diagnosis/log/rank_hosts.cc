// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/rank_hosts.h"

#include <re2/re2.h>

#include <array>

#include "base/text.h"

namespace muster {

namespace {

constexpr int kMaxRank = 65535;
constexpr std::string_view kSentence = " on ";
constexpr size_t kLongestLine = 200;

// A form of the statement, and a word that each such line has.
struct Form {
  std::string_view word;
  bool host_first;  // which group is which
  RE2 pattern;
};

const std::array<Form, 6>& forms() {
  static const std::array<Form, 6> all = {{
      // RELION.
      {" runs on host", false,
       RE2(R"(^\W*(?:Master|Leader|Slave|Follower)\s+\(?(\d+)\)? runs on host\s+= ([\w.-]+)\s*$)")},
      {kSentence, false,
       RE2(R"((?i)\b(?:rank|process|task) +(\d+)(?: *(?:of|out of|/) *\d+)?(?:, thread +\d+,)?(?: is)?(?: runs| running)? on (?:host |node |processor )?([a-z][\w.-]*\d(?:[\w.-]*\w)?)\.?(?: \(|, |: | *$))")},
      // nccl-tests.
      {" Pid ", false,
       RE2(R"(^#\s+Rank\s+(\d+) .{0,20}\bPid\s+\d+ on\s+([\w.-]+) device )")},
      // Intel MPI.
      {"MPI startup(): ", false,
       RE2(R"(MPI startup\(\): (\d+)\s+\d+\s+([\w.-]+)\s+(?:\{|\d|$))")},
      {"processor ", true,
       RE2(R"((?i)\bprocessor ([a-z][\w.-]*\d[\w.-]*), rank (\d+) (?:out )?of \d+)")},
      // Open MPI.
      {" bound to ", true,
       RE2(R"(^\[([\w.-]+):\d+\] (?:MCW rank|Rank) (\d+) (?:is )?bound to )")},
  }};
  return all;
}

// "rank 3 on gpu1", which a sentence may say; tables and lists do not, nor
// texts that call it a node.
bool names_device(std::string_view name) {
  static const RE2 device(
      R"((?i)^(gpu|cuda|hip|xpu|npu|dev(ice)?|cpu|core|socket|numa|thread|port|rank|stage|step|epoch|iteration|layer|batch|level|line|eth|ib|mlx\d?|hfi\d?)[\d_:]*$)");
  return RE2::PartialMatch({name.data(), name.size()}, device);
}

}  // namespace

void RankHosts::learn(std::string_view line) {
  if (line.size() > kLongestLine) return;
  for (const Form& form : forms()) {
    if (line.find(form.word) == std::string_view::npos) continue;
    std::string first;
    std::string second;
    if (!RE2::PartialMatch({line.data(), line.size()}, form.pattern, &first,
                           &second)) {
      continue;
    }
    if (form.host_first) std::swap(first, second);
    const auto rank = parse_integer(first);
    const bool named = line.find(" on node ") != std::string_view::npos ||
                       line.find(" on host ") != std::string_view::npos;
    const bool device =
        form.word == kSentence && !named && names_device(second);
    if (!rank || *rank > kMaxRank || device) return;
    const auto [at, is_new] = hosts_.emplace(static_cast<int>(*rank), second);
    if (!is_new && at->second != second) at->second.clear();
    return;
  }
}

std::vector<std::string> RankHosts::take() {
  std::vector<std::string> by_rank;
  for (auto& [rank, host] : hosts_) {
    by_rank.resize(static_cast<size_t>(rank) + 1);
    by_rank.back() = std::move(host);
  }
  hosts_.clear();
  return by_rank;
}

}  // namespace muster
