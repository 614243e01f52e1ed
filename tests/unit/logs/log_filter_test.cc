// SPDX-License-Identifier: Apache-2.0
#include "logs/log_filter.h"

#include "catch.h"

using namespace muster;

namespace {

ParsedLine line_of(int rank, const char* host, const char* message,
                   int64_t time_ns = -1) {
  ParsedLine line;
  line.rank = rank;
  line.host = host;
  line.message = message;
  line.time_ns = time_ns;
  return line;
}

}  // namespace

TEST_CASE("options become a filter") {
  const auto filter = parse_logs_options(
      {"x.log", "--rank", "0-3,7", "--worker=2", "--level", "warn", "--grep",
       "a.b", "-o", "json", "--since", "10s"},
      60'000'000'000);
  REQUIRE(filter);
  CHECK(filter->file == "x.log");
  CHECK(filter->since_ns == 50'000'000'000);
  const auto wants = [&filter](const ParsedLine& line, LogLevel level) {
    return filter->wants(line, level);
  };
  const ParsedLine good = line_of(7, "pi-worker-2.pi", "xaxbx");
  CHECK(wants(good, LogLevel::kError));
  CHECK_FALSE(wants(good, LogLevel::kInfo));
  CHECK_FALSE(wants(line_of(4, "pi-worker-2", "axb"), LogLevel::kError));
  CHECK_FALSE(wants(line_of(7, "pi-worker-12", "axb"), LogLevel::kError));
  CHECK_FALSE(wants(line_of(7, "pi-worker-2", "ab"), LogLevel::kError));
  CHECK(wants(line_of(7, "node2", "axb"), LogLevel::kError));
  CHECK_FALSE(wants(line_of(7, "node12", "axb"), LogLevel::kError));
  CHECK_FALSE(wants(line_of(7, "pi-worker-2", "axb", 1), LogLevel::kError));
}

TEST_CASE("a folded line is of each of its ranks") {
  const auto filter = parse_logs_options({"--rank", "2,9"}, 0);
  REQUIRE(filter);
  const auto wants = [&filter](const char* message) {
    return filter->wants(line_of(-1, "", message), LogLevel::kInfo);
  };
  CHECK(wants("[0-3] loading"));
  CHECK(wants("[0,7-11] loading"));
  CHECK_FALSE(wants("[3-8] loading"));
  CHECK_FALSE(wants("[2-] loading"));
  CHECK_FALSE(wants("[2-3]loading"));
  CHECK_FALSE(wants("loading"));
  CHECK_FALSE(filter->wants(line_of(1, "", "[0-3] x"), LogLevel::kInfo));
}

TEST_CASE("sets of ranks") {
  CHECK(*parse_rank_set("0") == std::set<int>{0});
  CHECK(*parse_rank_set("0-2,2,7") == std::set<int>{0, 1, 2, 7});
  CHECK(*parse_rank_set("1048575") == std::set<int>{1048575});
  for (const char* bad : {"", "a", "-1", "3-1", "1-", "-", "1-2-3", "0,", ",",
                          "1048576", "99999999999999999999", "1 2"}) {
    INFO(bad);
    CHECK_FALSE(parse_rank_set(bad));
  }
}

TEST_CASE("an age beyond all clocks leaves nothing out") {
  for (const char* age : {"106751d", "200000d", "1000000000d"}) {
    INFO(age);
    const auto filter = parse_logs_options({"--since", age}, 1);
    REQUIRE(filter);
    CHECK(filter->wants(line_of(0, "h", "x", 0), LogLevel::kInfo));
  }
}

TEST_CASE("wrong options get a sentence") {
  using Args = std::vector<std::string>;
  for (const Args& args :
       {Args{"a", "b"}, Args{"--rank"}, Args{"--rank", "3-1"},
        Args{"--rank", "0-99999999"}, Args{"--level", "loud"},
        Args{"--since", "soon"}, Args{"--grep", "("}, Args{"-o", "xml"},
        Args{"--colour", "red"}}) {
    const auto filter = parse_logs_options(args, 0);
    INFO(args[0]);
    REQUIRE_FALSE(filter);
    CHECK(filter.error().code == "usage");
    CHECK(filter.error().text().find("muster logs") != std::string::npos);
  }
}
