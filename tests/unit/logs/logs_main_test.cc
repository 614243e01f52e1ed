// SPDX-License-Identifier: Apache-2.0
// What `muster logs` prints.
#include "logs/logs_main.h"

#include <algorithm>

#include "../launcher/captured_stdio.h"
#include "catch.h"

namespace muster {
namespace {

TEST_CASE("records come back as they were") {
  const std::string records =
      R"({"timestamp":"2026-01-31T12:00:00.000000001Z","level":"warn","rank":3,)"
      R"("host":"w-0","stream":"stderr","seq":7,"progress":true,)"
      R"("message":"10%"})"
      "\n"
      R"({"timestamp":"2026-01-31T12:00:00.000000002Z","level":"info",)"
      R"("rank":null,"source":"mpirun","host":"l","stream":"stdout","seq":1,)"
      R"("message":"a \"b\""})"
      "\n";
  const TemporaryDirectory directory;
  directory.write("log", records);
  test::CapturedStdio captured;
  const int code = logs_main({directory.at("log"), "-o", "json"});
  const std::string text = captured.out();
  CHECK(code == 0);
  CHECK(text == records);
}

TEST_CASE("a level stands behind the program's time, not the runtime's") {
  const TemporaryDirectory directory;
  directory.write("log",
                  "[0|w] 2026-01-31 12:00:00,123 - train - ERROR - bad\n"
                  "2026-01-31 12:00:00.123 | ERROR    | a:f:1 - loguru\n"
                  "2026-01-31 12:00:00,123 an INFO of no error\n"
                  "2026-01-31T12:00:00.5Z stderr F then an error was gone\n");
  test::CapturedStdio captured;
  logs_main({directory.at("log"), "--level", "error"});
  const std::string text = captured.out();
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find("- bad") != std::string::npos);
  CHECK(text.find("loguru") != std::string::npos);
}

TEST_CASE("an empty log is told, and what to give") {
  const TemporaryDirectory directory;
  directory.write("log", "");
  test::CapturedStdio captured;
  const int code = logs_main({directory.at("log")});
  const std::string said = captured.err();
  CHECK(code == 1);
  CHECK(said.find("the log is empty") != std::string::npos);
  CHECK(said.find("| muster logs`") != std::string::npos);
}

}  // namespace
}  // namespace muster
