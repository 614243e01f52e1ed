// SPDX-License-Identifier: Apache-2.0
#include "logs/line_folder.h"

#include <map>
#include <random>

#include "catch.h"

using namespace muster;

TEST_CASE("the same line of many ranks is told once") {
  std::vector<std::string> out;
  LineFolder folder(100, [&out](const auto& ranks, const auto& text) {
    out.push_back(rank_set_text(ranks) + " " + text);
  });
  for (int rank = 0; rank < 64; ++rank) folder.add(rank, "load", rank);
  folder.add(7, "only me", 70);
  CHECK(out.empty());
  CHECK(folder.expire(100) == 170);
  CHECK(out == std::vector<std::string>{"0-63 load"});
  CHECK(folder.expire(170) == -1);
  CHECK(out.back() == "7 only me");
}

TEST_CASE("a rank that repeats itself is not folded with itself") {
  std::vector<std::string> out;
  LineFolder folder(100, [&out](const auto& ranks, const auto& text) {
    out.push_back(rank_set_text(ranks) + text);
  });
  folder.add(0, "a", 1);
  folder.add(0, "a", 2);
  folder.add(1, "a", 3);
  folder.flush();
  CHECK(out.size() == 2);
}

TEST_CASE("no line is lost, doubled or moved within its rank") {
  std::minstd_rand random(7);
  std::map<int, std::vector<std::string>> sent;
  std::map<int, std::vector<std::string>> got;
  LineFolder folder(50, [&got](const auto& ranks, const auto& text) {
    for (const int rank : ranks) got[rank].push_back(text);
  });
  for (int i = 0; i < 20000; ++i) {
    const int rank = static_cast<int>(random() % 16);
    const std::string text = "line " + std::to_string(random() % 5);
    sent[rank].push_back(text);
    folder.add(rank, text, i);
  }
  folder.flush();
  CHECK(got == sent);
}

TEST_CASE("window 0 folds nothing") {
  int lines = 0;
  LineFolder folder(0, [&lines](const auto&, const auto&) { ++lines; });
  for (int rank = 0; rank < 8; ++rank) folder.add(rank, "x", 1);
  CHECK(lines == 8);
}

TEST_CASE("rank sets are short") {
  CHECK(rank_set_text({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
  CHECK(rank_set_text({}).empty());
}
