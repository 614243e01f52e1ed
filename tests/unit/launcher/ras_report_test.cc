// SPDX-License-Identifier: Apache-2.0
// Reports as NCCL printed them (github.com/NVIDIA/nccl issues 1911, 1762 and
// 1730), and as its source would print what nobody has posted.
#include "launcher/hang/ras_report.h"

#include "catch.h"

namespace muster {
namespace {

constexpr const char* kTable =
    "NCCL version 2.26.2 compiled with CUDA 12.6\n"
    "CUDA runtime version 12060, driver version 12060\n\n"
    "Job summary\n===========\n\n"
    "  Nodes  Processes         GPUs  Processes     GPUs\n"
    "(total)   per node  per process    (total)  (total)\n"
    "      4          8            1         32       32\n\n"
    "Communicators... (0.00s)\n=============\n\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  "
    "Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n"
    "    0         1         4         8        32        32   RUNNING  "
    "MISMATCH\n\n"
    "Errors\n======\n\n";

std::string warning(const std::string& lines) {
  return std::string(kTable) + "Warnings\n========\n\n" +
         "#0-0 (fa93daea854b060b) MISMATCH\n" + lines;
}

// Rank = pid - 100 on any node; those of 10.9.* are nobody's.
std::optional<int> by_pid(const RasRank& rank, int) {
  if (rank.pid == 0 || rank.node.starts_with("10.9.")) return std::nullopt;
  return rank.pid - 100;
}

std::vector<std::string> said(const std::vector<RasIssue>& issues) {
  return ras_sentences(issues, by_pid, 8);
}

TEST_CASE("the rank that has launched less than the others is named") {
  const auto issues = read_ras_report(
      warning("  Communicator ranks have different AllReduce operation counts\n"
              "  31 ranks have launched up to operation 42\n"
              "  Rank 5 has launched up to operation 41 -- GPU 5 managed by "
              "process 105 "
              "on node 10.1.0.7\n"));
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].operation == "AllReduce");
  CHECK(issues[0].size == 32);
  REQUIRE(issues[0].groups.size() == 2);
  CHECK(issues[0].groups[1].ranks[0].node == "10.1.0.7");
  CHECK(ras_odd_ranks(issues, by_pid).ranks == std::set<int>{5});
  CHECK(said(issues) ==
        std::vector<std::string>{"NCCL: of AllReduce rank 5 is at number 41, "
                                 "31 ranks at 42"});
}

TEST_CASE("several that are behind, one of whom is not known") {
  const auto issues = read_ras_report(warning(
      "  Communicator ranks have different collective operation counts\n"
      "  29 ranks have launched up to operation 640\n"
      "  3 ranks have not launched any operations\n"
      "  Rank 12 -- GPU 4 managed by process 112 on node 10.1.0.7\n"
      "  Rank 13 -- GPU 5 (NVML 6) managed by process 113 on node 10.1.0.7\n"
      "  Rank 14 -- GPU 6 managed by process 114 on node 10.9.0.7\n"));
  CHECK(ras_odd_ranks(issues, by_pid).ranks == std::set<int>{12, 13});
  CHECK(said(issues)[0] ==
        "NCCL: of collectives ranks 12-13, NCCL's rank 14 (process 114 on "
        "10.9.0.7) have begun none, 29 ranks at 640");
}

TEST_CASE("who is ahead holds up nobody") {
  const auto issues = read_ras_report(warning(
      "  Communicator ranks have different AllGather operation counts\n"
      "  30 ranks have launched up to operation 640\n"
      "  2 ranks have launched up to operation 641\n"
      "  Rank 12 -- GPU 4 managed by process 323032 on node 10.137.190.124\n"
      "  Rank 13 -- GPU 5 managed by process 323033 on node 10.137.190.124\n"));
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].groups[1].ranks.size() == 2);
  CHECK(ras_odd_ranks(issues, by_pid).ranks.empty());
  CHECK(said(issues)[0] ==
        "NCCL: of AllGather ranks 322932-322933 are at number 641, 30 ranks at "
        "640");
}

TEST_CASE("of two ranks the one behind is named, whatever error one has") {
  const auto issues = read_ras_report(
      "#0-0 (b3398875b8b2a063) ERROR\n"
      "  Asynchronous error on 1 rank\n"
      "  Rank 0 reported Invalid usage -- GPU 0 managed by process 100 on node "
      "10.4.0.1\n\n"
      "Warnings\n========\n\n"
      "#0-0 (b3398875b8b2a063) MISMATCH\n"
      "  Communicator ranks have different AllReduce operation counts\n"
      "  Rank 0 has launched up to operation 21 -- GPU 0 managed by process "
      "100 "
      "on node 10.4.0.1\n"
      "  Rank 1 has launched up to operation 20 -- GPU 0 managed by process "
      "101 "
      "on node 10.4.0.1\n");
  const RasOdd odd = ras_odd_ranks(issues, by_pid);
  CHECK(odd.ranks == std::set<int>{1});
  CHECK(odd.kind == RasIssue::Kind::kCounts);
  CHECK(ras_counts(issues) == std::vector<uint64_t>{1, 21, 1, 20});
  CHECK(said(issues).front() ==
        "NCCL: of AllReduce rank 0 is at number 21, rank 1 at 20");
}

TEST_CASE("a process that does not answer comes before what is behind") {
  const auto issues = read_ras_report(
      std::string(kTable) +
      "INCOMPLETE\n"
      "  Missing communicator data from 1 job process\n"
      "  Process 104 on node 10.4.109.13 managing GPU 0\n\n"
      "#0-0 (b3398875b8b2a063) INCOMPLETE\n"
      "  Missing communicator data from 1 rank\n"
      "  Rank 1 -- GPU 0 managed by process 104 on node 10.4.109.13\n\n"
      "Warnings\n========\n\n"
      "#0-0 (b3398875b8b2a063) MISMATCH\n"
      "  Communicator ranks have different AllReduce operation counts\n"
      "  Rank 2 has launched up to operation 6 -- GPU 2 managed by process 102 "
      "on node 10.4.109.13\n"
      "  Rank 3 has launched up to operation 7 -- GPU 3 managed by process 103 "
      "on node 10.4.109.13\n");
  CHECK(ras_odd_ranks(issues, by_pid).ranks == std::set<int>{4});
  CHECK(said(issues) == std::vector<std::string>{
                            "NCCL: rank 4 does not answer",
                            "NCCL: of AllReduce rank 2 is at number 6, rank 3 "
                            "at 7"});
}

TEST_CASE("processes that are dead, and errors") {
  const auto issues = read_ras_report(
      std::string(kTable) +
      "DEAD\n"
      "  1 job process is considered dead (unreachable via the RAS network)\n"
      "  Process 77 on node 10.9.0.1 managing GPUs 0,1\n\n"
      "#0-0 (b3398875b8b2a063) ERROR\n"
      "  Asynchronous error on 1 rank\n"
      "  Rank 7 reported Remote process error -- GPU 7 managed by process 107 "
      "on node 10.4.0.1\n\n"
      "Warnings\n========\n\n");
  CHECK(ras_odd_ranks(issues, by_pid).ranks == std::set<int>{7});
  CHECK(said(issues) == std::vector<std::string>{
                            "NCCL: the process 77 on 10.9.0.1 does not answer",
                            "NCCL: rank 7 has Remote process error"});
}

TEST_CASE("the missing ranks of NCCL 2.24 have numbers only") {
  const auto issues =
      read_ras_report(std::string(kTable) +
                      "#0-0 (b3398875b8b2a063) INCOMPLETE\n"
                      "  Missing communicator data from 2 ranks\n"
                      "  The missing ranks: 3,5\n");
  const auto as_they_are = [](const RasRank& rank, int size) {
    return size == 32 ? std::optional(rank.number) : std::nullopt;
  };
  CHECK(ras_odd_ranks(issues, as_they_are).ranks == std::set<int>{3, 5});
}

TEST_CASE("who is not in a communicator yet holds up its making") {
  const auto issues = read_ras_report(
      warning("  Communicator ranks have different status\n"
              "  31 ranks have status INIT\n"
              "  Rank 9 has status NOCOMM -- GPU 1 managed by process 109 on "
              "node 10.1.0.2\n"));
  CHECK(ras_odd_ranks(issues, by_pid).ranks == std::set<int>{9});
  CHECK(said(issues)[0] ==
        "NCCL: rank 9 has status NOCOMM, 31 ranks have status INIT");
}

TEST_CASE("a job without fault, and what is no report") {
  CHECK(
      read_ras_report(std::string(kTable) + "Warnings\n========\n\n").empty());
  CHECK(read_ras_report("").empty());
  CHECK(
      read_ras_report("#\n  Rank 5 has launched up to operation 41\n").empty());
  CHECK(read_ras_report("DEAD\n").empty());
  // Numbers that no rank has, ends within a line.
  for (const char* text :
       {"DEAD\n  Process 99999999999999999999 on node x\n",
        "DEAD\n  Process 5 on node", "DEAD\n  Rank -1 -- GPU",
        "#0-0 (1) INCOMPLETE\n  Rank 99999999999 -- x\n"}) {
    for (const RasIssue& issue : read_ras_report(text)) {
      for (const RasGroup& group : issue.groups) {
        for (const RasRank& rank : group.ranks) {
          CHECK(rank.number >= -1);
          CHECK(rank.node.empty());
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster
