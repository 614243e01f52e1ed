// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_files.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "../base/temporary_directory.h"
#include "catch.h"

namespace muster {
namespace {

// As the writer thread does.
void put(LogFiles& files, const std::string& bytes) {
  const int file = files.descriptor_for("rank-0.out", bytes);
  REQUIRE(file >= 0);
  REQUIRE(::write(file, bytes.data(), bytes.size()) ==
          static_cast<ssize_t>(bytes.size()));
}

TEST_CASE("the count bounds the files, the newest stay") {
  const TemporaryDirectory directory;
  LogFiles files(directory.path(), {10, 2});
  for (int i = 0; i < 6; ++i) put(files, "line " + std::to_string(i) + "\n");
  CHECK(read_file(directory.at("rank-0.out")).value_or("") == "line 5\n");
  CHECK(read_file(directory.at("rank-0.out.1")).value_or("") == "line 4\n");
  CHECK(read_file(directory.at("rank-0.out.2")).value_or("") == "line 3\n");
  CHECK_FALSE(std::filesystem::exists(directory.at("rank-0.out.3")));
}

TEST_CASE("a line longer than the limit stays in one file") {
  const TemporaryDirectory directory;
  LogFiles files(directory.path(), {10, 3});
  put(files, "0123456789");
  put(files, "0123456789");
  put(files, "end\n");
  put(files, "next\n");
  CHECK(read_file(directory.at("rank-0.out.1")).value_or("") ==
        "01234567890123456789end\n");
  CHECK(read_file(directory.at("rank-0.out")).value_or("") == "next\n");
}

TEST_CASE("what is removed is said once") {
  const TemporaryDirectory directory;
  LogFiles files(directory.path(), {10, 1});
  for (int i = 0; i < 6; ++i) put(files, "0123456789\n");
  CHECK(files.take_words().size() == 1);
  CHECK(files.take_words().empty());
}

TEST_CASE("no rotation when it is off; nothing more for a file that failed") {
  const TemporaryDirectory directory;
  LogFiles off(directory.path(), {0, 2});
  for (int i = 0; i < 5; ++i) put(off, "0123456789\n");
  CHECK(read_file(directory.at("rank-0.out")).value_or("").size() == 55);
  LogFiles files(directory.path(), {10, 2});
  put(files, "0123456789\n");
  files.failed("rank-0.out", ENOSPC);
  const auto words = files.take_words();
  REQUIRE(words.size() == 1);
  CHECK(words[0].starts_with(directory.at("rank-0.out") + ": "));
  CHECK(files.descriptor_for("rank-0.out", "0123456789\n") == -1);
  CHECK(files.descriptor_for("rank-1.out", "0123456789\n") >= 0);
}

TEST_CASE("a directory that went away is told, by file") {
  LogFiles files("/none/such", {10, 2});
  CHECK(files.descriptor_for("rank-0.out", "a\n") == -1);
  CHECK(files.descriptor_for("rank-0.out", "b\n") == -1);
  CHECK(files.take_words().size() == 1);
}

}  // namespace
}  // namespace muster
