// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/bundle.h"

#include <chrono>
#include <filesystem>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "catch.h"
#include "launcher/report/kept_logs.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

void age(const fs::path& folder, std::chrono::hours hours) {
  const auto then = fs::file_time_type::clock::now() - hours;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    fs::last_write_time(entry.path(), then);
  }
  fs::last_write_time(folder, then);
}

TEST_CASE("a bundle has report, plan and logs") {
  const TemporaryDirectory directory;
  LaunchReport report;
  report.launch_id = "one";
  report.plan = "{}\n";
  report.facts = "[]\n";
  const auto kept = write_bundle(directory.path(), report, "/no/such/logs");
  REQUIRE(kept);
  const std::string* const folder = &kept->folder;
  CHECK(*folder == bundle_folder(directory.path(), "one"));
  CHECK(read_file(*folder + "/plan.json").value_or("") == "{}\n");
  CHECK(read_file(*folder + "/facts.json").value_or("") == "[]\n");
  CHECK(fs::exists(*folder + "/report.json"));
  CHECK(fs::exists(*folder + "/verdict.txt"));
  CHECK(kept->left_out.find("/no/such/logs: No such") != std::string::npos);
}

TEST_CASE("a bundle keeps its logs though the next launch moves the files") {
  const TemporaryDirectory directory;
  directory.write("logs/rank-0.out", "said\n");
  directory.write("logs/earlier-1/rank-0.out", "before\n");
  directory.write("logs/.in-use", "");
  directory.write("logs/checkpoint.pt", "the user's");
  LaunchReport report;
  report.launch_id = "one";
  const auto kept =
      write_bundle(directory.path(), report, directory.at("logs"));
  REQUIRE(kept);
  CHECK(kept->left_out.empty());
  const std::string* const folder = &kept->folder;
  fs::rename(directory.at("logs/rank-0.out"), directory.at("logs/earlier"));
  directory.write("logs/rank-0.out", "of the next\n");
  CHECK(read_file(*folder + "/logs/rank-0.out").value_or("") == "said\n");
  CHECK_FALSE(fs::exists(*folder + "/logs/earlier-1"));
  CHECK_FALSE(fs::exists(*folder + "/logs/.in-use"));
  CHECK_FALSE(fs::exists(*folder + "/logs/checkpoint.pt"));
}

TEST_CASE("where files cannot be linked a bundle has their ends") {
  const TemporaryDirectory directory;
  const std::string from = directory.at("logs");
  const std::string to = directory.at("kept");
  directory.write("logs/rank-0.out", "said\n");
  directory.write("logs/rank-1.out", "first line\nsecond\nlast\n");
  directory.write("logs/checkpoint.pt", "the user's");
  // As on another file system: a name that is taken cannot be linked either.
  directory.write("kept/rank-1.out", "");
  CHECK(keep_logs(from, to).empty());
  CHECK(read_file(to + "/rank-0.out").value_or("") == "said\n");
  CHECK(read_file(to + "/rank-1.out").value_or("").size() == 23);
  CHECK_FALSE(fs::exists(to + "/checkpoint.pt"));
  CHECK(keep_logs(from, to, 30) ==
        "the bundle has only the last 15 B of 1 of 2 logs of " + from +
            ", which could not be linked");
  CHECK(read_file(to + "/rank-0.out").value_or("") == "said\n");
  CHECK(read_file(to + "/rank-1.out").value_or("") == "second\nlast\n");
  CHECK(keep_logs(from, "/proc/nowhere") ==
        "the bundle lacks 2 of 2 logs of " + from + ", which cannot be copied");
}

TEST_CASE("old bundles go, those of a launch that may run stay") {
  const TemporaryDirectory directory;
  for (const char* name : {"old", "running", "fresh", "crashed"}) {
    directory.write(name, "");  // others' files are left alone
    const fs::path folder = bundle_folder(directory.path(), name);
    fs::create_directories(folder / "logs");
    REQUIRE(write_file_atomically((folder / "logs/rank-0.out").string(), "x"));
  }
  const auto at = [&directory](const char* name) {
    return fs::path(bundle_folder(directory.path(), name));
  };
  for (const char* name : {"old", "fresh"}) {
    REQUIRE(write_file_atomically((at(name) / "report.json").string(), "{}"));
  }
  age(at("old"), std::chrono::hours(25));
  age(at("running"), std::chrono::hours(72));
  age(at("crashed"), std::chrono::hours(24 * 8));
  LaunchReport report;
  report.launch_id = "new";
  REQUIRE(write_bundle(directory.path(), report, ""));
  CHECK_FALSE(fs::exists(at("old")));
  CHECK(fs::exists(at("running")));
  CHECK(fs::exists(at("fresh")));
  CHECK_FALSE(fs::exists(at("crashed")));
  CHECK(fs::exists(at("new")));
  CHECK_FALSE(fs::exists(at("new") / "plan.json"));
  CHECK(fs::exists(directory.at("old")));
}

}  // namespace
}  // namespace muster
