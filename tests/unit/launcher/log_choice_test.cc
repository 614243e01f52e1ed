// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_choice.h"

#include <stdlib.h>

#include "captured_stdio.h"
#include "catch.h"

namespace muster {
namespace {

LogFormat chosen(const std::string& format, bool drop_in = false) {
  LaunchOptions options;
  options.log_format = format;
  options.drop_in = drop_in;
  const test::CapturedStdio captured;  // a file: neither terminal nor log
  return choose_output(options).format;
}

TEST_CASE("the user's format wins") {
  CHECK(chosen("text") == LogFormat::kText);
  CHECK(chosen("plain", true) == LogFormat::kPlain);
  CHECK(chosen("json", true) == LogFormat::kJson);
}

TEST_CASE("auto: records for machines, plain lines under mpirun's name") {
  CHECK(chosen("auto") == LogFormat::kJson);
  CHECK(chosen("auto", true) == LogFormat::kPlain);
}

TEST_CASE("labels are those that the line asks for") {
  const auto tags = [](const std::vector<std::string>& words,
                       const std::string& version = "4.1.4") {
    return tags_of(parse_mpirun_line(words).value(), version);
  };
  CHECK(tags({"mpirun", "--tag-output", "./a"}, "5.0.11") ==
        MpiTags::kOpenMpi5);
  CHECK(tags({"mpirun", "--tag-output", "./a"}) == MpiTags::kOpenMpi);
  CHECK(tags({"mpiexec", "-l", "./a"}) == MpiTags::kHydra);
  CHECK(tags({"mpiexec", "-prepend-rank", "./a"}) == MpiTags::kHydra);
  CHECK(tags({"mpirun", "-np", "2", "./a"}) == MpiTags::kNone);
}

TEST_CASE("what else the options say about output") {
  LaunchOptions options;
  options.log_format = "text";
  options.log_directory = "/l";
  options.log_drop = true;
  options.rank_level = "warn";
  options.log_ranks = "1,3-4";
  test::CapturedStdio captured;
  const OutputOptions out = choose_output(options);
  captured.restore();
  CHECK_FALSE(out.color);  // not a terminal
  CHECK(out.directory == "/l");
  CHECK(out.drop);
  CHECK(out.level == LogLevel::kWarn);
  CHECK(out.ranks == std::set<int>{1, 3, 4});
}

TEST_CASE("rotation of log files") {
  CHECK(parse_rotation("")->bytes == uint64_t{1} << 30);
  CHECK(parse_rotation("")->older == 8);
  CHECK(parse_rotation("off")->bytes == 0);
  CHECK(parse_rotation("64K,0")->bytes == 65536);
  CHECK(parse_rotation("64K,0")->older == 0);
  CHECK(parse_rotation("2T")->bytes == uint64_t{1} << 41);
  CHECK(parse_rotation("2T")->older == 8);
  for (const char* bad : {"1", "on", "4095", "1G,", "1G,-1", "1G,1,1", "G",
                          "1g", "9999999999T", "1G,1001"}) {
    INFO(bad);
    const auto rotation = parse_rotation(bad);
    REQUIRE_FALSE(rotation);
    CHECK(rotation.error().code == "usage");
  }
}

TEST_CASE("secrets of the environment and of --mask") {
  LaunchOptions options;
  options.mask_patterns = {"badge-([0-9]+)"};
  auto masker = make_masker(options, {{"HF_TOKEN", "hunter2hunter2"}});
  REQUIRE(masker);
  const std::string seen = masker->masked("hunter2hunter2 and badge-4711");
  CHECK(seen.find("hunter2") == std::string::npos);
  CHECK(seen.find("4711") == std::string::npos);
  options.mask_patterns = {"("};
  const auto bad = make_masker(options, {});
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == "usage");
}

}  // namespace
}  // namespace muster
