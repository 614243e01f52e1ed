// SPDX-License-Identifier: Apache-2.0
// Names in a program's file, wherever they lie in it.
#include "launcher/plan/program_words.h"

#include <sys/stat.h>

#include <fstream>

#include "base/runtime_dir.h"
#include "catch.h"

namespace muster {
namespace {

TEST_CASE("functions that a program names") {
  auto directory = RuntimeDir::create("program-words-test");
  REQUIRE(directory);
  const std::string path = directory->path() + "/app";
  const auto names = [&path](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    ::chmod(path.c_str(), 0755);
    return program_names(path, {}, "", {"MPI_Session_init", "mpi_f"});
  };
  const std::string elf = "\177ELF";
  const std::string zero(1, '\0');
  const std::string name = zero + "MPI_Session_init" + zero;
  CHECK(names(elf + name));
  CHECK(names(elf + zero + "mpi_f" + zero));
  CHECK_FALSE(names(elf + zero + "MPI_Init" + zero));
  CHECK_FALSE(names(elf + zero + "PMPI_Session_init" + zero));
  CHECK_FALSE(names("#!/bin/sh\n" + name));
  CHECK_FALSE(names(""));
  // Across the border of two pieces.
  for (const size_t before : {(1u << 20) - 10u, (1u << 20) - 4u, 3u << 20}) {
    CHECK(names(elf + std::string(before, 'x') + name));
  }
  CHECK_FALSE(program_names("no-such-program", {}, "", {"MPI_Session_init"}));
}

}  // namespace
}  // namespace muster
