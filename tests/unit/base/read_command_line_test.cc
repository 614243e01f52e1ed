// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/read_command_line.h"

#include "catch.h"

using namespace muster;

namespace {

struct Read {
  std::optional<int> code;
  int port = 7;
};

Read read(const std::vector<std::string>& args) {
  Read out;
  CLI::App app("", "muster test");
  app.add_option("--port", out.port)
      ->envname("MUSTER_TEST_PORT")
      ->transform(whole_number(1, 65535));
  out.code = read_command_line(app, args);
  return out;
}

// Sets the variable for as long as it lives.
struct Variable {
  explicit Variable(const char* value) {
    ::setenv("MUSTER_TEST_PORT", value, 1);
  }
  ~Variable() { ::unsetenv("MUSTER_TEST_PORT"); }
};

}  // namespace

TEST_CASE("a variable counts, the command line wins, a bad one is refused") {
  CHECK(read({}).port == 7);
  const Variable variable("8");
  CHECK(read({}).port == 8);
  CHECK(read({"--port", "9"}).port == 9);
  const Variable bad("nonsense");
  CHECK(read({}).code == 2);
}

TEST_CASE("the first word that is too much is told") {
  const auto told = [](std::vector<std::string> args) {
    CLI::App app("", "muster test");
    std::string text;
    try {
      std::reverse(args.begin(), args.end());
      app.parse(std::move(args));
    } catch (const CLI::ParseError& error) {
      text = usage_sentence(&app, error);
    }
    return text;
  };
  CHECK(told({"x", "y"}) ==
        "muster test: 'x' is too much. See `muster test --help`.\n");
  CHECK(told({"-o", "xml"}) ==
        "muster test: unknown option -o. See `muster test --help`.\n");
}

TEST_CASE("numbers are decimal") {
  CHECK(read({"--port", "010"}).port == 10);
  CHECK(read({"--port", "08"}).port == 8);
  for (const char* bad : {"0x10", "1e2", "4.0", "-1", "0", "65536", "", "4x",
                          "99999999999999999999"}) {
    INFO(bad);
    CHECK(read({"--port", bad}).code == 2);
  }
}

TEST_CASE("a bad variable does not hide the help") {
  const Variable variable("nonsense");
  CHECK(read({"--help"}).code == 0);
}

TEST_CASE("a service link is no choice of a port") {
  const Variable variable("tcp://10.0.0.1:80");
  const Read found = read({});
  CHECK_FALSE(found.code);
  CHECK(found.port == 7);
}
