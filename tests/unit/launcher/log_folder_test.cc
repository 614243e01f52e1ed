// SPDX-License-Identifier: Apache-2.0
// That no launch loses the files of --log-dir to another one.
#include "launcher/output/log_folder.h"

#include <filesystem>
#include <future>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "catch.h"
#include "launcher/output/bounded_call.h"

namespace muster {
namespace {

TEST_CASE("what an earlier launch left is moved aside") {
  const TemporaryDirectory directory;
  for (const char* name : {"rank-0.out", "rank-0.out.1", "rank-7.err",
                           "mpirun.out", "a.out", "my.rank-0.out"}) {
    directory.write(name, "first");
  }
  {
    const auto first = LogFolder::claim(directory.path(), "a1");
    REQUIRE(first);
    CHECK(first->path() == directory.path());
  }
  for (const char* name :
       {"rank-0.out", "rank-0.out.1", "rank-7.err", "mpirun.out"}) {
    INFO(name);
    CHECK_FALSE(std::filesystem::exists(directory.at(name)));
    CHECK(read_file(directory.at(std::string("earlier-1/") + name))
              .value_or("") == "first");
  }
  CHECK(std::filesystem::exists(directory.at("a.out")));
  CHECK(std::filesystem::exists(directory.at("my.rank-0.out")));
  directory.write("rank-0.out", "second");
  REQUIRE(LogFolder::claim(directory.path(), "a2"));
  CHECK(read_file(directory.at("earlier-1/rank-0.out")).value_or("") ==
        "first");
  CHECK(read_file(directory.at("earlier-2/rank-0.out")).value_or("") ==
        "second");
  REQUIRE(LogFolder::claim(directory.path(), "a3"));
  CHECK_FALSE(std::filesystem::exists(directory.at("earlier-3")));
}

TEST_CASE("a launch that still writes keeps its files where they are") {
  const TemporaryDirectory directory;
  const auto first = LogFolder::claim(directory.at("logs"), "a1");
  REQUIRE(first);
  directory.write("logs/rank-0.out", "first");
  const auto second = LogFolder::claim(directory.at("logs"), "a2");
  REQUIRE(second);
  CHECK(second->path() == directory.at("logs/a2"));
  CHECK(std::filesystem::is_directory(second->path()));
  CHECK(read_file(directory.at("logs/rank-0.out")).value_or("") == "first");
}

TEST_CASE("a log folder that cannot be written is named") {
  const TemporaryDirectory directory;
  directory.write("file", "");
  const auto refused = LogFolder::claim(directory.at("file/x"), "a1");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "log_directory");
}

TEST_CASE("a log directory is made and proved, or refused with its name") {
  const TemporaryDirectory directory;
  CHECK(prepare_log_directory(""));
  CHECK(prepare_log_directory(directory.at("a/b")));
  CHECK(std::filesystem::is_empty(directory.at("a/b")));
  directory.write("file", "");
  const auto refused = prepare_log_directory(directory.at("file/x"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "log_directory");
  CHECK(refused.error().text().find(directory.at("file/x")) !=
        std::string::npos);
}

TEST_CASE("a call that does not end is left behind") {
  CHECK(within(Milliseconds{10'000}, [] { return 7; }) == 7);
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  CHECK_FALSE(within(Milliseconds{10}, [ended] {
    ended.wait();
    return 7;
  }));
  end.set_value();
}

}  // namespace
}  // namespace muster
