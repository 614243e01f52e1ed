// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_files.h"

#include <unistd.h>

#include <filesystem>

#include "../base/temporary_directory.h"
#include "catch.h"

namespace muster {
namespace {

// As the writer thread does, at once.
void put(LogFiles& files, const std::string& bytes) {
  const auto file = files.file_for("rank-0.out", bytes);
  REQUIRE(file);
  REQUIRE(::write(file->get(), bytes.data(), bytes.size()) ==
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

TEST_CASE("no rotation when it is off, or when the file is broken") {
  const TemporaryDirectory directory;
  LogFiles off(directory.path(), {0, 2});
  for (int i = 0; i < 5; ++i) put(off, "0123456789\n");
  CHECK(read_file(directory.at("rank-0.out")).value_or("").size() == 55);
  LogFiles files(directory.path(), {10, 2});
  const auto file = files.file_for("rank-0.out", "0123456789\n");
  REQUIRE(file);
  CHECK(files.failed(file->get()) == directory.at("rank-0.out"));
  CHECK(files.file_for("rank-0.out", "0123456789\n") == file);
  CHECK(files.failed(99999).empty());
}

TEST_CASE("bytes still queued for a rotated file reach it under its new name") {
  const TemporaryDirectory directory;
  LogFiles files(directory.path(), {10, 2});
  const auto first = files.file_for("rank-0.out", "0123456789\n");
  const auto second = files.file_for("rank-0.out", "abc\n");
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first != second);
  REQUIRE(::write(second->get(), "abc\n", 4) == 4);
  REQUIRE(::write(first->get(), "0123456789\n", 11) == 11);
  CHECK(read_file(directory.at("rank-0.out.1")).value_or("") == "0123456789\n");
  // It fails late: its number stays taken, so that no other file gets it.
  CHECK(files.failed(first->get()) == directory.at("rank-0.out"));
}

}  // namespace
}  // namespace muster
