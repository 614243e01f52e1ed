// SPDX-License-Identifier: Apache-2.0
// Programs in a file become programs of the line.
#include "job/app_file.h"

#include "base/text.h"
#include "catch.h"

namespace muster {
namespace {

std::string expanded(std::vector<std::string> words, const char* text) {
  const auto line = parse_mpirun_line(std::move(words));
  REQUIRE(line);
  REQUIRE_FALSE(line->app_file.empty());
  const auto out = words_with_app_file(*line, text);
  return out ? join(*out, " ") : out.error().text();
}

TEST_CASE("each line of a file of programs is one between colons") {
  CHECK(expanded({"mpirun", "--mca", "btl", "tcp,self", "--app", "/a"},
                 "# two\n-np 1 ./a x\n\n  -np 2 -wdir /t ./b  # last\n") ==
        "mpirun --mca btl tcp,self -np 1 ./a x : -np 2 -wdir /t ./b");
  CHECK(expanded({"mpiexec.hydra", "-configfile", "/c"},
                 "-n 1 ./a :\r\n-n 1 ./b\r\n") ==
        "mpiexec.hydra -n 1 ./a : -n 1 ./b");
}

TEST_CASE("a file without a program is refused with its name") {
  const std::string text = expanded({"mpirun", "--app", "/a"}, "# no\n\n");
  CHECK(text.find("/a") != std::string::npos);
  CHECK(text.find("it names no program") != std::string::npos);
}

TEST_CASE("a program on the line beside the file is refused") {
  CHECK(expanded({"mpirun", "--app", "/a", "./b"}, "-np 1 ./a\n")
            .find("the line names a program, too") != std::string::npos);
}

}  // namespace
}  // namespace muster
