// SPDX-License-Identifier: Apache-2.0
// One answer from all that is known: where sources contradict each other, the
// heavier one decides, and is named.
#include "launcher/hang/culprits.h"

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "worker/hang/flight_dump.h"

namespace muster {
namespace {

using By = Culprits::By;

std::string recorded(const std::string& name) {
  const auto text = read_file(MUSTER_RECORDED + ("/" + name));
  REQUIRE(text);
  return *text;
}

RasIssue counts(int behind, int others) {
  RasGroup low{1, 41, "", {{behind, 0, ""}}};
  RasGroup high{static_cast<size_t>(others), 42, "", {}};
  return {RasIssue::Kind::kCounts, "AllReduce", others + 1, {low, high}};
}

RasIssue state(RasIssue::Kind kind, int rank, const std::string& status) {
  RasIssue out{kind, "", 4, {{1, {}, status, {{rank, 0, ""}}}}};
  if (kind == RasIssue::Kind::kStatus) {
    out.groups.push_back({3, {}, "INIT", {}});
  }
  return out;
}

// Four ranks of which `odd` sleep while the others wait in a collective.
void add_stacks(HangEvidence& evidence, const std::set<int>& odd,
                Doing doing = Doing::kRests) {
  for (int rank = 0; rank < 4; ++rank) {
    const bool is_odd = odd.count(rank) > 0;
    PlacedStack one;
    one.host = "w-0";
    one.stack.rank = rank;
    one.stack.frames = {is_odd ? "read (libc.so.6)" : "PMPI_Bcast (libmpi.so)",
                        "main (app)"};
    evidence.stacks.push_back(std::move(one));
    evidence.doings[rank] = is_odd ? RankDoing{doing, "", false}
                                   : RankDoing{Doing::kWaits, "", true};
  }
}

FlightIssue missing(int rank) { return {"PyTorch: missing", {rank}, true}; }
FlightIssue differs(std::set<int> odd) {
  return {"PyTorch: differs", std::move(odd), false, true};
}
FlightIssue nobody() { return {"PyTorch: none is behind", {}}; }

TEST_CASE("where sources contradict each other the heavier one decides") {
  struct Case {
    const char* what;
    const char* raised = "";
    std::vector<FlightIssue> flight;
    std::vector<RasIssue> nccl;
    std::set<int> elsewhere;  // by stacks
    By by;
    std::set<int> ranks;
    const char* text;
  };
  const RasIssue error = state(RasIssue::Kind::kError, 0, "Invalid usage");
  const RasIssue silent = state(RasIssue::Kind::kSilent, 2, "");
  const RasIssue status = state(RasIssue::Kind::kStatus, 2, "NOCOMM");
  const std::vector<Case> cases = {
      {"an exception before a record",
       "rank 3 raised \"X\"",
       {missing(1)},
       {},
       {},
       By::kException,
       {},
       "Rank 3 raised \"X\""},
      {"the record before counts",
       "",
       {missing(1)},
       {counts(2, 3)},
       {},
       By::kRecord,
       {1},
       "Rank 1 holds up the rest, by PyTorch's record"},
      {"the record before stacks",
       "",
       {missing(1)},
       {},
       {3},
       By::kRecord,
       {1},
       "Rank 1 holds up the rest, by PyTorch's record"},
      {"the record before an error",
       "",
       {missing(1)},
       {error},
       {},
       By::kRecord,
       {1},
       "Rank 1 holds up the rest, by PyTorch's record"},
      {"the first of the record",
       "",
       {differs({3}), missing(1)},
       {},
       {},
       By::kRecord,
       {3},
       "Rank 3 is out of step with the rest, by PyTorch's record"},
      {"ranks that differ, and nobody is odd",
       "",
       {differs({})},
       {counts(2, 3)},
       {1},
       By::kRecord,
       {},
       "The ranks are out of step, by PyTorch's record"},
      {"a record that names nobody leaves it to others",
       "",
       {nobody()},
       {counts(2, 3)},
       {},
       By::kCounts,
       {2},
       "Rank 2 holds up the rest, by NCCL's operation counts"},
      {"counts before stacks",
       "",
       {},
       {counts(2, 3)},
       {1},
       By::kCounts,
       {2},
       "Rank 2 holds up the rest, by NCCL's operation counts"},
      {"counts before an error",
       "",
       {},
       {error, counts(2, 3)},
       {},
       By::kCounts,
       {2},
       "Rank 2 holds up the rest, by NCCL's operation counts"},
      {"silence before counts",
       "",
       {},
       {counts(1, 3), silent},
       {},
       By::kCounts,
       {2},
       "Rank 2 holds up the rest, by NCCL's operation counts"},
      {"stacks before an error",
       "",
       {},
       {error},
       {1},
       By::kStacks,
       {1},
       "Rank 1 holds up the rest, by the stacks"},
      {"stacks before a status",
       "",
       {},
       {status},
       {1},
       By::kStacks,
       {1},
       "Rank 1 holds up the rest, by the stacks"},
      {"a status before an error",
       "",
       {},
       {error, status},
       {},
       By::kErrors,
       {2},
       "Rank 2 holds up the rest, by the state that NCCL reports"},
      {"an error where nothing else is known",
       "",
       {},
       {error},
       {},
       By::kErrors,
       {0},
       "Rank 0 holds up the rest, by the state that NCCL reports"},
      {"nothing", "", {}, {}, {}, By::kNothing, {}, ""}};
  for (const Case& one : cases) {
    INFO(one.what);
    HangEvidence evidence;
    evidence.raised = one.raised;
    evidence.flight = one.flight;
    evidence.nccl = one.nccl;
    evidence.job_rank = [](const RasRank& rank, int) {
      return std::optional(rank.number);
    };
    add_stacks(evidence, one.elsewhere);
    const Culprits who = who_holds_up(evidence);
    CHECK(who.by == one.by);
    CHECK(who.ranks == one.ranks);
    CHECK(who.text == one.text);
  }
}

TEST_CASE("of a job that goes on only what stays true is said") {
  HangEvidence evidence;
  evidence.works = true;
  evidence.flight = {missing(1)};
  evidence.nccl = {counts(2, 3)};
  evidence.job_rank = [](const RasRank& rank, int) {
    return std::optional(rank.number);
  };
  CHECK(who_holds_up(evidence).by == By::kNothing);
  add_stacks(evidence, {3}, Doing::kWorks);
  CHECK(who_holds_up(evidence).text ==
        "Rank 3 is at work while the rest waits, by the stacks");
  evidence.flight = {differs({0})};
  CHECK(who_holds_up(evidence).ranks == std::set<int>{0});
}

TEST_CASE("stacks name the few that are elsewhere, and never most") {
  HangEvidence evidence;
  add_stacks(evidence, {1, 2});
  CHECK(who_holds_up(evidence).ranks == std::set<int>{1, 2});
  evidence = {};
  add_stacks(evidence, {1, 2, 3});
  CHECK(who_holds_up(evidence).by == By::kNothing);
  // All are in a call: whoever is in another one than most.
  evidence = {};
  add_stacks(evidence, {});
  evidence.stacks[2].stack.frames[0] = "PMPI_Barrier (libmpi.so)";
  CHECK(who_holds_up(evidence).ranks == std::set<int>{2});
  // Nobody is in one: nobody waits.
  evidence = {};
  add_stacks(evidence, {0, 1, 2, 3});
  CHECK(who_holds_up(evidence).by == By::kNothing);
}

// What `muster stack` printed of a job whose rank 1 slept.
std::vector<PlacedStack> recorded_stacks() {
  std::vector<PlacedStack> out;
  bool in_stack = false;
  const std::string text = recorded("muster-asked-while-hanging.txt");
  for (const auto line : split(text, '\n')) {
    if (line.starts_with("$ ") && !out.empty()) break;
    if (line.starts_with("$ ")) in_stack = line == "$ muster stack";
    if (!in_stack) continue;
    if (line.starts_with("rank ")) {
      out.emplace_back();
      out.back().stack.rank = line[5] - '0';
      out.back().stack.pid = 2892 + out.back().stack.rank;
      out.back().host = "node" + std::to_string(out.back().stack.rank);
      out.back().stack.cpu_ms = 0;
    } else if (line.starts_with("  ") && !out.empty()) {
      out.back().stack.frames.emplace_back(trim(line));
    }
  }
  return out;
}

TEST_CASE("a job of an H200 whose rank 1 slept: all sources name rank 1") {
  HangEvidence evidence;
  evidence.stacks = recorded_stacks();
  REQUIRE(evidence.stacks.size() == 2);
  HangLook first;
  first.stacks = evidence.stacks;
  HangLook second = first;
  second.stacks[1].stack.cpu_ms = 3'000;  // rank 0 spins for its GPU
  const Judgement judgement = judge(first, second, 3'000, false);
  CHECK(judgement.progress == Progress::kHangs);
  evidence.doings = judgement.ranks;
  CHECK(who_holds_up(evidence).text ==
        "Rank 1 holds up the rest, by the stacks");
  const std::string where =
      groups_sentence(group_stacks(evidence.stacks), evidence.stacks, {1});
  CHECK(where ==
        "rank 0 on node0 is in Python > _Z26THCPModule_cudaSynchronizeP7_"
        "objectS0_ > _ZN3c104cuda18device_synchronizeEv > "
        "cudaDeviceSynchronize; rank 1 on node1 is in clock_nanosleep, called "
        "by Python and not in cudaDeviceSynchronize, where the others wait");

  evidence.nccl = read_ras_report(recorded("ras-verbose-status.txt"));
  RasIssue error = state(RasIssue::Kind::kError, 0, "Invalid usage");
  evidence.nccl.insert(evidence.nccl.begin(), error);
  evidence.job_rank = [](const RasRank& rank, int) {
    return std::optional(rank.number);
  };
  const Culprits who = who_holds_up(evidence);
  CHECK(who.text == "Rank 1 holds up the rest, by NCCL's operation counts");
  CHECK(who.evidence ==
        "NCCL: of AllReduce rank 0 is at number 21, rank 1 at "
        "20");
}

TEST_CASE("a job of an H200 whose ranks called different sizes: the first") {
  std::vector<wire::FlightRecord> records;
  for (int rank = 0; rank < 2; ++rank) {
    const auto read = read_flight_dump(
        recorded("flight/comm_lib_trace_rank_" + std::to_string(rank)));
    REQUIRE(read);
    records.push_back(*read);
    records.back().rank = rank;
    records.back().written_ns = 1'000;
  }
  const auto back =
      wire::flight_records_from_json(wire::to_json(records, 512 << 10));
  REQUIRE(back);
  HangEvidence evidence;
  evidence.flight = flight_issues(*back);
  const Culprits who = who_holds_up(evidence);
  CHECK(who.text == "Rank 1 is out of step with the rest, by PyTorch's record");
  CHECK(who.evidence ==
        "PyTorch: rank 1 calls all_reduce #26 of the default group with Float "
        "[1048576] at train.py:109 (mismatch), the other one with Float "
        "[267786]; from there on rank 1 is one call ahead");
}

TEST_CASE("of ranks that have ended the record that decides comes first") {
  FlightIssue first = missing(1);
  first.text = "PyTorch: rank 1 has not entered";
  struct Case {
    const char* what;
    std::vector<FlightIssue> issues;
    std::string front;
  };
  const std::vector<Case> cases = {
      {"one that names nobody", {nobody(), first}, first.text},
      {"the first of several", {differs({3}), first}, differs({3}).text},
      {"nobody is odd, and ranks differ",
       {differs({}), first},
       differs({}).text},
      {"nobody at all", {nobody()}, nobody().text}};
  for (const Case& one : cases) {
    INFO(one.what);
    const auto sorted = decisive_first(one.issues);
    REQUIRE(sorted.size() == one.issues.size());
    CHECK(sorted[0].text == one.front);
    // What is said of the same records while the job lives.
    HangEvidence alive;
    alive.flight = one.issues;
    const Culprits who = who_holds_up(alive);
    CHECK((who.by == By::kNothing || sorted[0].odd == who.ranks));
  }
  CHECK(decisive_first({}).empty());
}

}  // namespace
}  // namespace muster
