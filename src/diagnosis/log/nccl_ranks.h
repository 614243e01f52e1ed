// SPDX-License-Identifier: Apache-2.0
// NcclRanks: the ranks of NCCL's lines. "node-3:4711:4722 [2] NCCL WARN …" has
// a host, a process and a GPU; the rank is in other lines of that process:
// "comm 0x… rank 5 nranks 8 …", "Channel 00/0 : 4[0] -> 5[1] [receive] …",
// "[Proxy Service 5]". Of several communicators the largest one counts. Not
// thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace muster {

class NcclRanks {
 public:
  void learn(std::string_view line);
  // -1: not a line of NCCL, or without a rank.
  [[nodiscard]] int rank_of(std::string_view line) const;
  // By rank, as far as known.
  [[nodiscard]] std::map<int, std::string> hosts() const;

 private:
  struct Told {
    int rank = -1;
    int of = 0;  // ranks of the communicator; 0: unknown
  };
  std::map<std::string, Told, std::less<>> processes_;  // by "host:pid"
};

}  // namespace muster
