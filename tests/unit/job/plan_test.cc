// SPDX-License-Identifier: Apache-2.0
// Placement tables and the refusals with their arithmetic.
#include "job/plan.h"

#include "catch.h"

namespace muster {
namespace {

std::vector<PlannedHost> hosts_of(const std::vector<int>& slots) {
  std::vector<PlannedHost> hosts;
  for (const int count : slots) {
    hosts.push_back({"w-" + std::to_string(hosts.size()), count, false});
  }
  return hosts;
}

JobSpec spec_of(std::optional<int> np) {
  JobSpec spec;
  spec.np = np;
  spec.apps = {{{"./a", "x"}, std::nullopt, {}, ""}};
  return spec;
}

// Node of each rank, as digits.
std::string places(const Plan& plan) {
  std::string out;
  for (const PlannedRank& rank : plan.ranks) out += std::to_string(rank.node);
  return out;
}

std::string codes(const Plan& plan) {
  std::string out;
  for (const Finding& finding : plan.findings) out += finding.code + " ";
  return out;
}

TEST_CASE("where ranks go") {
  struct Row {
    std::vector<int> slots;
    std::optional<int> np;
    MapBy map_by;
    int per_node;
    bool oversubscribe;
    const char* places;
    const char* codes;
  };
  const Row rows[] = {
      {{2, 2}, std::nullopt, MapBy::kSlot, 0, false, "0011", ""},
      {{2, 3}, 4, MapBy::kSlot, 0, false, "0011", ""},
      {{2, 2}, 2, MapBy::kSlot, 0, false, "00", "idle_hosts "},
      {{2, 2}, 2, MapBy::kNode, 0, false, "01", ""},
      {{2, 3}, std::nullopt, MapBy::kNode, 0, false, "01011", ""},
      {{1, 3}, 4, MapBy::kNode, 0, false, "0111", ""},
      {{4, 4}, std::nullopt, MapBy::kPerNode, 2, false, "0011", ""},
      {{4, 4}, 3, MapBy::kPerNode, 2, false, "001", ""},
      {{1, 1},
       std::nullopt,
       MapBy::kPerNode,
       2,
       true,
       "0011",
       "oversubscribed "},
      {{2, 2}, 7, MapBy::kSlot, 0, true, "0000111", "oversubscribed "},
      {{1, 2}, 5, MapBy::kNode, 0, true, "01011", "oversubscribed "},
      {{1}, 1, MapBy::kSlot, 0, false, "0", ""},
  };
  for (const Row& row : rows) {
    JobSpec spec = spec_of(row.np);
    spec.map_by = row.map_by;
    spec.per_node = row.per_node;
    spec.oversubscribe = row.oversubscribe;
    const auto plan = make_plan(spec, hosts_of(row.slots));
    INFO(row.places);
    if (!plan) FAIL(plan.error().text());
    CHECK(places(*plan) == row.places);
    CHECK(codes(*plan) == row.codes);
  }
}

TEST_CASE("numbers of ranks and nodes agree") {
  JobSpec spec = spec_of(5);
  spec.map_by = MapBy::kNode;
  std::vector<PlannedHost> hosts = hosts_of({2, 2, 2});
  hosts[1].is_launcher = true;
  const auto plan = make_plan(spec, hosts);
  REQUIRE(plan);
  CHECK(plan->nodes[1].is_launcher);
  CHECK(plan->nodes[0].ranks == std::vector<int>{0, 3});
  CHECK(plan->nodes[2].first_rank == 2);
  for (size_t i = 0; i < plan->ranks.size(); ++i) {
    const PlannedRank& rank = plan->ranks[i];
    CHECK(rank.rank == static_cast<int>(i));
    const PlannedNode& node = plan->nodes[static_cast<size_t>(rank.node)];
    CHECK(node.ranks[static_cast<size_t>(rank.local_rank)] == rank.rank);
    CHECK(rank.argv == std::vector<std::string>{"./a", "x"});
  }
}

TEST_CASE("several programs") {
  JobSpec spec = spec_of(std::nullopt);
  spec.apps = {{{"./m"}, 1, {}, ""}, {{"./w"}, 3, {}, ""}};
  const auto plan = make_plan(spec, hosts_of({2, 2}));
  REQUIRE(plan);
  CHECK(plan->ranks[0].argv[0] == "./m");
  CHECK(plan->ranks[0].app == 0);
  CHECK(plan->ranks[1].argv[0] == "./w");
  CHECK(plan->ranks[3].app == 1);
  spec.apps[1].np = std::nullopt;
  CHECK(make_plan(spec, hosts_of({2, 2})).error().code == "usage");
}

// Read off Open MPI 4.1.4: mpirun --do-not-launch --display-map.
TEST_CASE("each of several programs is dealt from the first host on") {
  struct Row {
    std::vector<int> slots;
    std::vector<int> np;  // of each program; 0: not given
    MapBy map_by;
    int per_node;
    const char* places;  // "": refused
  };
  const Row rows[] = {
      {{8, 8}, {1, 2}, MapBy::kNode, 0, "001"},
      {{8, 8}, {3, 4}, MapBy::kNode, 0, "0100101"},
      {{2, 2}, {3, 1}, MapBy::kNode, 0, "0101"},
      {{8, 8}, {3, 9}, MapBy::kSlot, 0, "000000001111"},
      {{8, 8}, {2, 2}, MapBy::kPerNode, 1, "0101"},
      {{8, 8}, {1, 2}, MapBy::kPerNode, 1, "001"},
      {{8, 8}, {2, 4}, MapBy::kPerNode, 2, "000011"},
      {{2, 2}, {3, 1}, MapBy::kPerNode, 2, "0011"},
      {{2, 2}, {0, 0}, MapBy::kPerNode, 1, "0101"},
      {{3, 1}, {2, 2}, MapBy::kPerNode, 1, ""},
      {{4, 4}, {0, 4}, MapBy::kPerNode, 1, ""},
  };
  for (const Row& row : rows) {
    INFO(row.places);
    JobSpec spec = spec_of(std::nullopt);
    spec.apps.clear();
    for (const int np : row.np) {
      spec.apps.push_back(
          {{"./a"}, np > 0 ? std::optional(np) : std::nullopt, {}, ""});
    }
    spec.map_by = row.map_by;
    spec.per_node = row.per_node;
    const auto plan = make_plan(spec, hosts_of(row.slots));
    CHECK((plan ? places(*plan) : "") == row.places);
    if (!plan) CHECK(plan.error().code == "not_enough_slots");
  }
}

// Read off Open MPI 4.1.4: mpirun -np … -H … : -np … -H …, --display-map.
TEST_CASE("programs on hosts of their own") {
  using Own = std::vector<AppHost>;
  struct Row {
    std::vector<int> slots;
    std::vector<std::pair<int, Own>> programs;  // -np, 0: not given; -H
    MapBy map_by;
    bool oversubscribe;
    const char* places;  // "": refused
  };
  const MapBy slot = MapBy::kSlot;
  const Row rows[] = {
      {{1, 1}, {{1, {{0, 1}}}, {1, {{1, 1}}}}, slot, false, "01"},
      {{2, 1}, {{2, {{0, 2}}}, {1, {{1, 1}}}}, slot, false, "001"},
      {{2, 1}, {{0, {{0, 2}}}, {0, {{1, 1}}}}, slot, false, "001"},
      {{1, 1}, {{2, {{0, 1}}}, {1, {{1, 1}}}}, slot, false, ""},
      {{2, 1}, {{1, {{0, 1}}}, {2, {{0, 2}, {1, 1}}}}, slot, false, "001"},
      {{1, 1, 1},
       {{2, {{0, 1}, {1, 1}}}, {2, {{1, 1}, {2, 1}}}},
       slot,
       false,
       ""},
      {{2, 2, 2}, {{2, {{2, 1}, {0, 1}}}, {1, {{1, 1}}}}, slot, false, "201"},
      {{2, 2}, {{1, {{0, 0}}}, {0, {{1, 0}}}}, slot, false, "011"},
      // Without -H: wherever the others may.
      {{2}, {{1, {}}, {1, {{0, 2}}}}, slot, false, "00"},
      {{1, 1}, {{3, {{0, 1}}}, {1, {{1, 1}}}}, slot, true, "0001"},
      {{1, 2}, {{4, {{0, 1}, {1, 2}}}, {1, {{1, 1}}}}, slot, true, "00111"},
      {{2, 1, 1},
       {{3, {{0, 2}, {1, 1}}}, {3, {{1, 1}, {2, 1}}}},
       slot,
       true,
       "001122"},
      {{2, 2, 1},
       {{3, {{0, 2}, {1, 1}}}, {2, {{1, 2}, {2, 1}}}},
       MapBy::kNode,
       false,
       "01012"},
  };
  for (const Row& row : rows) {
    INFO(row.places);
    JobSpec spec = spec_of(std::nullopt);
    spec.apps.clear();
    for (const auto& [np, own] : row.programs) {
      spec.apps.push_back(
          {{"./a"}, np > 0 ? std::optional(np) : std::nullopt, {}, "", own});
    }
    spec.map_by = row.map_by;
    spec.oversubscribe = row.oversubscribe;
    const auto plan = make_plan(spec, hosts_of(row.slots));
    if (!plan) INFO(plan.error().text());
    CHECK((plan ? places(*plan) : "") == row.places);
  }
}

TEST_CASE("too few slots on hosts of its own are said with the host") {
  JobSpec spec = spec_of(std::nullopt);
  spec.apps = {{{"./m"}, 2, {}, "", {{0, 1}}}, {{"./w"}, 1, {}, "", {{1, 1}}}};
  const auto plan = make_plan(spec, hosts_of({1, 1}));
  REQUIRE_FALSE(plan);
  const std::string text = plan.error().text();
  INFO(text);
  CHECK(plan.error().code == "not_enough_slots");
  CHECK(text.find("cannot place 2 ranks of ./m") != std::string::npos);
  CHECK(text.find(":2, lower -np") != std::string::npos);
}

TEST_CASE("in turns there is no end of slots") {
  const auto placed = [](int np, MapBy map_by, int per_node) {
    JobSpec spec = spec_of(np);
    spec.in_turns = true;
    spec.map_by = map_by;
    spec.per_node = per_node;
    const auto plan = make_plan(spec, hosts_of({2, 1}));
    REQUIRE(plan);
    return places(*plan) + ' ' + codes(*plan);
  };
  CHECK(placed(3, MapBy::kSlot, 0) == "001 ");
  CHECK(placed(5, MapBy::kSlot, 0) == "00100 oversubscribed ");
  CHECK(placed(6, MapBy::kPerNode, 2) == "001100 oversubscribed ");
  CHECK(placed(3, MapBy::kNode, 0) == "010 ");
  JobSpec own = spec_of(std::nullopt);
  own.in_turns = true;
  own.apps = {{{"./m"}, 2, {}, "", {{1, 1}}}, {{"./w"}, 1, {}, "", {{0, 1}}}};
  CHECK(places(make_plan(own, hosts_of({2, 1})).value()) == "110");
}

TEST_CASE("refusals") {
  const auto error = [](const JobSpec& spec, const std::vector<int>& slots) {
    const auto plan = make_plan(spec, hosts_of(slots));
    return plan ? std::string()
                : plan.error().code + ": " + plan.error().text();
  };
  CHECK(error(spec_of(9), {4, 4}) ==
        "not_enough_slots: cannot place 9 ranks: 2 hosts x 4 slots = 8, 1 slot "
        "too few. Lower -n to 8, raise slotsPerWorker (of a TrainJob: "
        "numProcPerNode) or the number of workers, or pass --oversubscribe.");
  CHECK(error(spec_of(9), {4, 2}) ==
        "not_enough_slots: cannot place 9 ranks: 4 + 2 slots on 2 hosts = 6, 3 "
        "slots too few. Lower -n to 6, raise slotsPerWorker (of a TrainJob: "
        "numProcPerNode) or the number of workers, or pass --oversubscribe.");
  CHECK(error(spec_of(1), {}).starts_with("no_hosts: "));
  CHECK(error(spec_of(0), {1}).starts_with("usage: "));
  CHECK(error(spec_of(1), {0}).starts_with("usage: "));
  CHECK(error(spec_of(kMaxRanks + 1), {65536}).starts_with("usage: "));
  JobSpec none;
  CHECK(error(none, {1}).starts_with("no_program: "));
  JobSpec ppr = spec_of(std::nullopt);
  ppr.map_by = MapBy::kPerNode;
  ppr.per_node = 3;
  CHECK(error(ppr, {4, 2})
            .starts_with("not_enough_slots: cannot place 3 ranks on host w-1"));
  ppr.np = 7;
  CHECK(error(ppr, {4, 4}).starts_with("not_enough_slots: "));
  ppr.per_node = 0;
  CHECK(error(ppr, {4}).starts_with("usage: "));
}

}  // namespace
}  // namespace muster
