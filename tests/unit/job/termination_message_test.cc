// SPDX-License-Identifier: Apache-2.0
#include "job/termination_message.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "catch.h"

namespace muster {
namespace {

TEST_CASE("a termination message replaces what the kubelet's file holds") {
  const TemporaryDirectory directory;
  const std::string path = directory.at("termination-log");
  std::ofstream(path) << "of the container before, which said more\n";
  write_termination_message(path, "it ended\n");
  CHECK(*read_file(path) == "it ended\n");
  write_termination_message(path, std::string(9000, 'x'));
  CHECK(read_file(path)->size() == 4096);
}

TEST_CASE("where there is no such file none is made, and nothing is awaited") {
  const TemporaryDirectory directory;
  write_termination_message(directory.at("nowhere"), "text");
  CHECK_FALSE(std::filesystem::exists(directory.at("nowhere")));
  const std::string fifo = directory.at("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  write_termination_message(fifo, "text");  // comes back
}

}  // namespace
}  // namespace muster
