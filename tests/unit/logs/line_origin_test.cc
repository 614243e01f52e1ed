// SPDX-License-Identifier: Apache-2.0
#include "logs/line_origin.h"

#include "catch.h"

using namespace muster;

TEST_CASE("a record of a progress bar is known as one") {
  const ParsedLine line = parse_line(
      R"({"timestamp":"2026-01-31T12:00:00Z","level":"info","rank":3,)"
      R"("host":"w-0","stream":"stderr","seq":7,"progress":true,)"
      R"("message":"10%"})");
  CHECK(line.progress);
  CHECK(line.message == "10%");
}

TEST_CASE("prefixes of the usual launchers") {
  struct Case {
    const char* line;
    int rank;
    const char* host;
    const char* stream;
    const char* message;
  };
  for (const Case& one : {
           Case{"[1,3]<stderr>:KeyError", 3, "", "stderr", "KeyError"},
           Case{"[5]<stdout>: x", 5, "", "stdout", "x"},
           Case{"[12] hello", 12, "", "", "hello"},
           Case{" 3: hello", 3, "", "", "hello"},
           Case{"[rank7]: RuntimeError", 7, "", "", "RuntimeError"},
           Case{"[Rank-5] text", 5, "", "", "text"},
           Case{"[default0]:[rank2]: x", 2, "", "", "x"},
           Case{"[4|pi-worker-1] x", 4, "pi-worker-1", "", "x"},
           Case{"[pod/pi-worker-1/worker] [0] x", 0, "pi-worker-1", "", "x"},
           Case{"2026-01-31T12:00:00.5Z stderr F [1,2]<stderr>:x", 2, "",
                "stderr", "x"},
           Case{"(Worker pid=12, ip=10.0.0.3) [rank2]: x", 2, "10.0.0.3", "",
                "x"},
           Case{"(VllmWorker rank=3 pid=12) x", 3, "", "", "x"},
           Case{"(EngineCore_0 pid=12) x", -1, "", "", "x"},
           Case{"10.0.0.7: [rank2]: x", 2, "10.0.0.7", "", "x"},
           Case{"job-worker-3: x", -1, "job-worker-3", "", "x"},
           Case{"Fri Sep 25 16:52:53 2020[4]<stderr>:x", 4, "", "stderr", "x"},
           Case{"Mon Jul  3 11:53:22 2018<stderr>:x", -1, "", "stderr", "x"},
           Case{"Fri Sep 25 16:52:53 2020 x", -1, "", "",
                "Fri Sep 25 16:52:53 2020 x"},
           Case{"step-3: x", -1, "", "", "step-3: x"},
           Case{"(see pid=1 x", -1, "", "", "(see pid=1 x"},
           Case{"plain", -1, "", "", "plain"},
           Case{"[INFO] x", -1, "", "", "[INFO] x"},
           Case{"[12]hello", -1, "", "", "[12]hello"},
           Case{"[1,3] hello", -1, "", "", "[1,3] hello"},
           Case{"", -1, "", "", ""},
       }) {
    const ParsedLine line = parse_line(one.line);
    INFO(one.line);
    CHECK(line.rank == one.rank);
    CHECK(line.host == one.host);
    CHECK(line.stream == one.stream);
    CHECK(line.message == one.message);
  }
}

TEST_CASE("JSON records of muster") {
  const ParsedLine line = parse_line(
      "{\"timestamp\":\"2026-01-31T12:34:56.123456789Z\",\"level\":\"warn\","
      "\"rank\":3,\"host\":\"w-1\",\"stream\":\"stdout\",\"seq\":9,"
      "\"message\":\"hi\"}");
  CHECK(line.is_record);
  CHECK(line.rank == 3);
  CHECK(line.level == "warn");
  CHECK(line.sequence == 9);
  CHECK(line.message == "hi");
  CHECK(line.time_ns % 1'000'000'000 == 123456789);
  CHECK_FALSE(parse_line("{\"message\":").is_record);
  CHECK(parse_line("{\"rank\":null,\"message\":\"x\"}").rank == -1);
}

TEST_CASE("times") {
  CHECK(parse_timestamp("1970-01-01T00:00:01Z") == 1'000'000'000);
  CHECK(parse_timestamp("1970-01-01 01:00:00.25+01:00") == 250'000'000);
  CHECK(parse_timestamp("1970-01-01T00:00:01") == 1'000'000'000);
  for (const char* const wrong :
       {"", "12", "1970-13-01T00:00:00Z", "yesterday", "1970-01-01"}) {
    CHECK(parse_timestamp(wrong) == -1);
  }
}
