// SPDX-License-Identifier: Apache-2.0
#include "launcher/model/rank_table.h"

#include "catch.h"

namespace muster {
namespace {

RankRecord record_of(int rank, uint16_t node, uint32_t id) {
  RankRecord record;
  record.rank = rank;
  record.node = node;
  record.key = {node, id};
  return record;
}

TEST_CASE("ranks are found by process, and counted by state") {
  RankTable table;
  CHECK(table.all_ended());
  table.add(record_of(0, 1, 1));
  table.add(record_of(1, 2, 1));
  REQUIRE(table.find({2, 1}) != nullptr);
  CHECK(table.find({2, 1})->rank == 1);
  CHECK(table.find({3, 1}) == nullptr);
  CHECK(table.count(RankState::kStarting) == 2);
  CHECK_FALSE(table.all_ended());
}

TEST_CASE("two worlds of size one claim the same rank") {
  RankTable table;
  table.add(record_of(0, 1, 1));
  table.add(record_of(0, 2, 1));
  CHECK(table.records().size() == 2);
  CHECK(table.find({1, 1}) != table.find({2, 1}));
}

TEST_CASE("a lost node takes only what still ran there") {
  RankTable table;
  table.add(record_of(0, 1, 1));
  table.add(record_of(1, 1, 2));
  table.add(record_of(2, 2, 1));
  table.ended(*table.find({1, 1}), RankState::kExited, 5);
  table.lose_node(1, 9);
  CHECK(table.find({1, 1})->state == RankState::kExited);
  CHECK(table.find({1, 1})->ended_ns == 5);
  CHECK(table.find({1, 2})->state == RankState::kLost);
  CHECK(table.find({1, 2})->ended_ns == 9);
  CHECK_FALSE(table.all_ended());
  table.ended(*table.find({2, 1}), RankState::kNotStarted, 10);
  CHECK(table.all_ended());
}

TEST_CASE("a forgotten rank is only counted") {
  RankTable table;
  table.add(record_of(0, 1, 1));
  table.add(record_of(1, 1, 2));
  table.ended(*table.find({1, 1}), RankState::kExited, 5);
  table.forget({1, 1});
  table.forget({1, 1});
  CHECK(table.find({1, 1}) == nullptr);
  CHECK(table.find({1, 2})->rank == 1);
  CHECK(table.records().size() == 1);
  CHECK(table.forgotten() == 1);
}

TEST_CASE("states have words") {
  CHECK(to_text(RankState::kStarting) == std::string("starting"));
  CHECK(to_text(RankState::kNotStarted) == std::string("not started"));
  CHECK(to_text(RankState::kLost) == std::string("lost"));
}

}  // namespace
}  // namespace muster
