// SPDX-License-Identifier: Apache-2.0
// What is said of ranks where they were placed.
#include "job/placement_notes.h"

#include <list>

#include "catch.h"

namespace muster {
namespace {

struct Bed {
  std::list<NodeFacts> facts;  // nodes point to them
  std::vector<PlacedRanks> nodes;

  NodeFacts& add(int ranks, int cpus, double quota) {
    NodeFacts& node = facts.emplace_back();
    node.cpus_allowed = cpus;
    node.cpu_quota = quota;
    nodes.push_back({"w-" + std::to_string(nodes.size()), ranks, &node, {}});
    return node;
  }
  [[nodiscard]] std::string said(bool one_machine = false) const {
    std::string out;
    for (const Finding& note : placement_notes(nodes, one_machine)) {
      out += note.text + "\n";
    }
    return out;
  }
};

TEST_CASE("more ranks than CPUs") {
  struct Row {
    int ranks;
    int cpus;
    double quota;
    const char* said;
  };
  const Row rows[] = {
      {2, 2, -1, ""},
      {1, 64, 0.5, ""},  // one rank has nobody to wait for
      {4, 64, 3.9999, ""},
      {4, -1, -1, ""},  // unknown
      {3, 2, -1, "w-0: 3 ranks on 2 CPUs, so that ranks wait for a CPU\n"},
      {2, 1, -1, "w-0: 2 ranks on 1 CPU, so that ranks wait for a CPU\n"},
      {4, 64, 3,
       "w-0: 4 ranks on a CPU limit of 3, so that ranks wait for a CPU\n"},
      {4, 64, 2.5,
       "w-0: 4 ranks on a CPU limit of 2.5, so that ranks wait for a CPU\n"},
      {8, 4, 6, "w-0: 8 ranks on 4 CPUs, so that ranks wait for a CPU\n"},
  };
  for (const Row& row : rows) {
    Bed bed;
    bed.add(row.ranks, row.cpus, row.quota);
    INFO(row.ranks << " " << row.cpus << " " << row.quota);
    CHECK(bed.said() == row.said);
  }
}

TEST_CASE("a hundred pods alike are one sentence") {
  Bed bed;
  for (int i = 0; i < 99; ++i) bed.add(4, 2, -1);
  bed.add(6, 2, -1);
  CHECK(bed.said() ==
        "w-0 and 98 more: 4 ranks on 2 CPUs, so that ranks wait for a CPU\n"
        "w-99: 6 ranks on 2 CPUs, so that ranks wait for a CPU\n");
}

TEST_CASE("emulated nodes share the CPUs of one machine") {
  Bed bed;
  bed.add(4, 8, -1);
  bed.add(4, 8, -1);
  CHECK(bed.said(true).empty());
  bed.add(1, 8, -1);
  CHECK(bed.said(true) ==
        "this machine: 9 ranks on 8 CPUs, so that ranks wait for a CPU\n");
}

TEST_CASE("huge pages that a pod may not have, or only so many of") {
  Bed bed;
  NodeFacts& facts = bed.add(1, 8, -1);
  CHECK(bed.said().empty());
  facts.huge_pages_limit = 0;
  CHECK(bed.said().empty());  // the node has none
  facts.huge_pages = 512;
  CHECK(bed.said().find("learns by SIGBUS") != std::string::npos);
  bed.nodes[0].env = {{"UCX_POSIX_HUGETLB_MODE", "n"}};
  CHECK_FALSE(bed.said().empty());
  bed.nodes[0].env.emplace_back("UCX_SYSV_HUGETLB_MODE", "n");
  CHECK(bed.said().empty());
  facts.huge_pages_limit = 512 << 20;
  CHECK(bed.said() == "w-0: ranks share 512 MiB of huge pages\n");
  facts.huge_pages_limit = -1;
  CHECK(bed.said().empty());
  facts.huge_pages_limit = 0;
  bed.nodes[0] = {"w-0", 0, &facts, {}};
  CHECK(bed.said().empty());  // no rank there
}

}  // namespace
}  // namespace muster
